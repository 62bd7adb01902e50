// Writing members of JSON objects of which a façade knows the form.
#pragma once

#include <string>
#include <string_view>

namespace agent_graph::facades {

// Appends a comma and the member `name` with `text` as its value. `name` needs no escaping.
void AppendMember(std::string& out, std::string_view name, std::string_view text);

}  // namespace agent_graph::facades

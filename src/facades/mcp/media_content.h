// Files of an answer as the content of a result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "facades/mcp/peer.h"

namespace agent_graph::mcp {

// Appends an element for each file to `out`, a JSON list that is open. Images and sounds that the
// message contains are elements of their own types, other such files are resources, and files that
// are elsewhere are links. What the revision of the client does not have has another form, because
// clients refuse the whole result. `files_url`: see FilesUrl. Thread-safe.
void AppendMedia(std::string& out, const std::vector<MediaBlock>& media,
                 const std::string& files_url, std::string_view revision);

}  // namespace agent_graph::mcp

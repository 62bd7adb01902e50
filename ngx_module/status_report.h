// The status of this nginx's services, summed over their workers, as text for people or machines.
#pragma once

#include <string>

#include "config.h"

namespace agent_graph::nginx {

enum class StatusFormat : ngx_uint_t { kText, kJson, kPrometheus };

std::string WriteStatus(const ServiceList& services, StatusFormat format);

}  // namespace agent_graph::nginx

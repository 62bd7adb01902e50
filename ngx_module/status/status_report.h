// The status of this nginx's services, summed over their workers, as text for people or machines.
#pragma once

#include <string>

#include "ngx_module/config.h"

namespace agent_graph::nginx {

enum class StatusFormat : ngx_uint_t { kText, kJson, kPrometheus };

// The page in one of its formats. Reads the shared memory under the lock of each service's zone.
std::string WriteStatus(const ServiceList& services, StatusFormat format);

}  // namespace agent_graph::nginx

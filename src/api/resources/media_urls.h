// Checks the URLs of images, audio, video and documents in messages of a request.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "api/http/validation.h"
#include "settings/media_urls.h"

namespace agent_graph::api {

// Adds a problem for each URL in `content` that the settings do not allow. `content` is the value
// at `path`; only an array of blocks can contain URLs.
void CheckMediaUrls(const json& content, const std::vector<std::string>& path,
                    const settings::MediaUrls& urls, Problems& problems);

}  // namespace agent_graph::api

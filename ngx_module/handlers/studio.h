// Studio, the page below "ui/" that shows the agent. Its files are loaded into memory when the
// configuration is read; no request opens a file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ngx_module/ngx.h"
#include "ngx_module/request/request_context.h"

namespace agent_graph::nginx {

struct StudioFile {
  std::string_view type;
  std::string bytes;
  std::string gzip;  // the same compressed; empty: only sent as it is
  std::string etag;
  bool hashed = false;  // the name has a hash of the content, so the file never changes
};

// The files of one folder. Subfolders, symbolic links and files of other types are omitted.
class Studio {
 public:
  explicit Studio(const std::string& folder);

  // The file of that name; "index.html" always exists. Null if there is none.
  const StudioFile* Find(std::string_view name) const;

 private:
  std::map<std::string, StudioFile, std::less<>> files_;
};

// Answers a GET or HEAD of a file of Studio. Pass the result to ngx_http_finalize_request.
ngx_int_t SendStudio(RequestContext& context, std::string_view name);

// Loads the folder that agent_graph_ui names. Called while the location's configuration is merged.
char* PrepareStudio(ngx_conf_t* cf, LocationConfig& location) noexcept;

}  // namespace agent_graph::nginx

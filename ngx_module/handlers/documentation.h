// The pages that describe the service: /openapi.json, /docs, /redoc and the files that these two
// load. All are loaded into memory when the configuration is read; no request opens a file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ngx_module/ngx.h"
#include "ngx_module/request/request_context.h"
#include "settings/settings.h"

namespace agent_graph::nginx {

struct DocumentationFile {
  std::string_view type;
  std::string bytes;
};
using DocumentationFiles = std::map<std::string, DocumentationFile, std::less<>>;  // key: file name

// The viewer files found in a folder; missing ones are omitted.
struct Viewers {
  explicit Viewers(const std::string& folder);
  DocumentationFiles files;
};

// The pages of one location. Built when the configuration is read, then only read.
class Documentation {
 public:
  Documentation(const settings::Settings& settings, std::string_view url_prefix,
                std::shared_ptr<const Viewers> viewers);

  // The file served under a path such as "/docs/swagger-ui.css"; null if there is none.
  const DocumentationFile* Find(std::string_view path) const;

 private:
  DocumentationFiles pages_;
  std::shared_ptr<const Viewers> viewers_;
};

// Answers a GET or HEAD of a documentation route. Pass the result to ngx_http_finalize_request.
ngx_int_t SendDocumentation(RequestContext& context, std::string_view path);

// Builds the location's documentation. Called while its configuration is merged.
char* PrepareDocumentation(ngx_conf_t* cf, LocationConfig& location) noexcept;

}  // namespace agent_graph::nginx

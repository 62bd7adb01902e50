// The pages that describe the service: /openapi.json, /docs, /redoc and what the latter are made
// of. Everything is in memory from when the configuration is read; no request opens a file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ngx.h"
#include "request_context.h"
#include "settings/settings.h"

namespace agent_graph::nginx {

struct DocumentationFile {
  std::string_view type;
  std::string bytes;
};
using DocumentationFiles = std::map<std::string, DocumentationFile, std::less<>>;  // by name

// The viewers found in a folder; what is missing there is left out.
struct Viewers {
  explicit Viewers(const std::string& folder);
  DocumentationFiles files;
};

class Documentation {
 public:
  Documentation(const settings::Settings& settings, std::string_view url_prefix,
                std::shared_ptr<const Viewers> viewers);

  // What is served under a path such as "/docs/swagger-ui.css"; null: nothing.
  const DocumentationFile* Find(std::string_view path) const;

 private:
  DocumentationFiles pages_;
  std::shared_ptr<const Viewers> viewers_;
};

// Answers a GET or HEAD of a documentation route. The result is for ngx_http_finalize_request.
ngx_int_t SendDocumentation(RequestContext& context, std::string_view path);

// Makes the location's documentation; part of merging its configuration.
char* PrepareDocumentation(ngx_conf_t* cf, LocationConfig& location) noexcept;

}  // namespace agent_graph::nginx

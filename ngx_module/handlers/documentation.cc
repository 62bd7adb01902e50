#include "ngx_module/handlers/documentation.h"

#include <array>
#include <fstream>
#include <iterator>

#include "api/http/headers.h"
#include "api/openapi/document.h"
#include "ngx_module/callback.h"

namespace agent_graph::nginx {
namespace {

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kScript = "text/javascript; charset=utf-8";
constexpr std::string_view kDocsFolder = "/docs/";
constexpr size_t kViewerBytesMax = 16 * 1024 * 1024;

struct Viewer {
  std::string_view name;
  std::string_view type;
};

constexpr std::array kViewers = {
    Viewer{"swagger-ui.css", "text/css; charset=utf-8"},
    Viewer{"swagger-ui-bundle.js", kScript},
    Viewer{"redoc.standalone.js", kScript},
};

// References are relative, so that the pages work under every location. Scripts are separate files
// because the content security policy forbids inline scripts.
constexpr std::string_view kDocsPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Agent Graph</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="viewer"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
)html";

constexpr std::string_view kDocsScript =
    R"js(SwaggerUIBundle({url: "openapi.json", dom_id: "#viewer", deepLinking: true, validatorUrl: null});
)js";

// The viewer's logo is hidden: the browser would have to fetch it from the vendor's server.
constexpr std::string_view kRedocPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="img-src 'self' data:">
<title>Agent Graph</title>
<style>body { margin: 0; }</style>
</head>
<body>
<redoc spec-url="openapi.json" disable-search="true"></redoc>
<script src="docs/redoc.standalone.js"></script>
</body>
</html>
)html";

constexpr std::string_view kPlainPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Agent Graph</title>
</head>
<body>
<p>This interface is described by <a href="openapi.json">openapi.json</a>. The viewer for this page
is not installed; see <code>agent_graph_docs</code> in the service's documentation.</p>
</body>
</html>
)html";

void DestroyDocumentation(void* data) noexcept {
  static_cast<Documentation*>(data)->~Documentation();
}

// Returns the viewers of `folder`, which is read once for all locations that use it.
std::shared_ptr<const Viewers> SharedViewers(ngx_conf_t* cf, const std::string& folder) {
  auto* main =
      static_cast<MainConfig*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_agent_graph_module));
  std::shared_ptr<const Viewers>& viewers = (*main->viewers)[folder];
  if (viewers == nullptr) viewers = std::make_shared<Viewers>(folder);
  return viewers;
}

std::string_view Page(const DocumentationFiles& viewers, std::string_view viewer,
                      std::string_view page) {
  return viewers.contains(viewer) ? page : kPlainPage;
}

}  // namespace

Viewers::Viewers(const std::string& folder) {
  for (const Viewer& viewer : kViewers) {
    std::ifstream file(folder + "/" + std::string(viewer.name), std::ios::binary);
    if (!file) continue;
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (file.bad() || bytes.empty() || bytes.size() > kViewerBytesMax) continue;
    files.emplace(viewer.name, DocumentationFile{viewer.type, std::move(bytes)});
  }
}

Documentation::Documentation(const settings::Settings& settings, std::string_view url_prefix,
                             std::shared_ptr<const Viewers> viewers)
    : viewers_(std::move(viewers)) {
  auto add = [this](std::string_view path, std::string_view type, std::string_view bytes) {
    pages_.emplace(path, DocumentationFile{type, std::string(bytes)});
  };
  add("/openapi.json", "application/json", api::OpenApiDocument(settings, url_prefix));
  add("/docs", kHtml, Page(viewers_->files, "swagger-ui-bundle.js", kDocsPage));
  add("/docs/start.js", kScript, kDocsScript);
  add("/redoc", kHtml, Page(viewers_->files, "redoc.standalone.js", kRedocPage));
}

const DocumentationFile* Documentation::Find(std::string_view path) const {
  if (auto page = pages_.find(path); page != pages_.end()) return &page->second;
  if (!path.starts_with(kDocsFolder)) return nullptr;
  auto file = viewers_->files.find(path.substr(kDocsFolder.size()));
  return file == viewers_->files.end() ? nullptr : &file->second;
}

char* PrepareDocumentation(ngx_conf_t* cf, LocationConfig& location) noexcept {
  if (View(location.docs) == "off" || location.service->settings == nullptr) return NGX_CONF_OK;
  auto* failed = static_cast<char*>(NGX_CONF_ERROR);
  return Guarded<char*>(cf->log, failed, [&]() -> char* {
    ngx_str_t folder = location.docs;
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, sizeof(Documentation));
    if (cleanup == nullptr || ngx_conf_full_name(cf->cycle, &folder, 0) != NGX_OK) return failed;
    location.documentation =
        new (cleanup->data) Documentation(*location.service->settings, View(location.url_prefix),
                                          SharedViewers(cf, std::string(View(folder))));
    cleanup->handler = DestroyDocumentation;
    return NGX_CONF_OK;
  });
}

ngx_int_t SendDocumentation(RequestContext& context, std::string_view path) {
  const Documentation* documentation = context.location.documentation;
  const DocumentationFile* file = documentation == nullptr ? nullptr : documentation->Find(path);
  if (file == nullptr) {
    return SendNativeReply(context, api::ErrorReply(api::ApiError::kNotFound, context.request_id),
                           "rejected");
  }
  api::Reply reply;
  reply.headers.emplace_back("Content-Type", file->type);
  reply.headers.emplace_back("Cache-Control", "no-cache");
  return SendNativeReply(context, std::move(reply), "ok", file->bytes);
}

}  // namespace agent_graph::nginx

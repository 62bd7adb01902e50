#include "ngx_module/handlers/studio.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "api/http/byte_range.h"
#include "api/http/content_coding.h"
#include "base/sha256.h"
#include "ngx_module/callback.h"

namespace agent_graph::nginx {
namespace {

constexpr std::array kInstalledFolders = {"/usr/share/agent-graph/ui",
                                          "/usr/local/share/agent-graph/ui"};
constexpr std::string_view kIndex = "index.html";
constexpr std::string_view kCompressed = ".gz";
constexpr size_t kFilesMax = 100;
constexpr size_t kFileBytesMax = 4 * 1024 * 1024;
constexpr size_t kEtagDigits = 32;  // digits of the SHA-256
constexpr size_t kHashLetters = 8;  // letters of the hash in a name: app-3FKQ2M7A.js

// Scripts, styles and connections only of the service itself. Images are attachments that the page
// has fetched with its token.
constexpr std::string_view kPolicy =
    "default-src 'self'; img-src 'self' blob:; media-src 'self' blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// The policy of every page of the service, except that the live page may ask for the microphone.
constexpr std::string_view kPermissions =
    "geolocation=(), microphone=(self), camera=(), payment=(), usb=()";

struct FileType {
  std::string_view extension;
  std::string_view type;
};

constexpr std::array kTypes = {
    FileType{".html", "text/html; charset=utf-8"},     FileType{".css", "text/css; charset=utf-8"},
    FileType{".js", "text/javascript; charset=utf-8"}, FileType{".svg", "image/svg+xml"},
    FileType{".txt", "text/plain; charset=utf-8"},
};

constexpr std::string_view kNotBuiltPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Studio</title>
</head>
<body>
<h1>Studio is not installed</h1>
<p>The service works without this page. To get it: in a checkout of Agent Graph, <code>make ui</code>
builds it in <code>build/ui</code>; the package <code>agent-graph-common</code> contains it. The
directive <code>agent_graph_ui</code> names its folder. Then reload nginx.</p>
</body>
</html>
)html";

std::string_view TypeOf(std::string_view name) {
  for (const FileType& one : kTypes) {
    if (name.ends_with(one.extension)) return one.type;
  }
  return {};
}

bool IsHashed(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot <= kHashLetters) return false;
  const size_t begin = dot - kHashLetters;
  return name[begin - 1] == '-' &&
         std::ranges::all_of(name.substr(begin, kHashLetters), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
         });
}

// Empty if the file is missing, too large or a symbolic link.
std::string ReadPlainFile(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, error))) return {};
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kFileBytesMax) return {};
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return file.bad() ? std::string() : bytes;
}

StudioFile MakeFile(std::string_view name, std::string bytes, std::string gzip) {
  StudioFile file;
  file.type = TypeOf(name);
  file.bytes = std::move(bytes);
  file.gzip = std::move(gzip);
  file.etag = '"' + Sha256Hex(file.bytes).substr(0, kEtagDigits) + '"';
  file.hashed = IsHashed(name);
  return file;
}

// The file as the client can take it, with headers for caches.
void DescribeContent(const StudioFile& file, bool compressed, api::Reply& reply) {
  reply.headers.emplace_back("ETag", file.etag);
  reply.headers.emplace_back("Cache-Control",
                             file.hashed ? "public, max-age=31536000, immutable" : "no-cache");
  if (!file.gzip.empty()) reply.headers.emplace_back("Vary", "Accept-Encoding");
  reply.headers.emplace_back("Content-Security-Policy", kPolicy);
  reply.headers.emplace_back("Permissions-Policy", kPermissions);
  reply.headers.emplace_back("X-Content-Type-Options", "nosniff");
  reply.headers.emplace_back("Content-Type", file.type);
  if (compressed) reply.headers.emplace_back("Content-Encoding", "gzip");
}

using SharedStudio = std::shared_ptr<const Studio>;

void DestroyStudio(void* data) noexcept {
  static_cast<SharedStudio*>(data)->~SharedStudio();
}

// The files of `folder`, which is read once for all locations that use it.
SharedStudio LoadOnce(ngx_conf_t* cf, const std::string& folder) {
  auto* main =
      static_cast<MainConfig*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_agent_graph_module));
  SharedStudio& studio = (*main->studios)[folder];
  if (studio == nullptr) studio = std::make_shared<Studio>(folder);
  return studio;
}

}  // namespace

Studio::Studio(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (TypeOf(name).empty() || files_.size() == kFilesMax) continue;
    std::string bytes = ReadPlainFile(entry.path());
    if (bytes.empty()) continue;
    std::string gzip = ReadPlainFile(entry.path().string() + std::string(kCompressed));
    files_.emplace(name, MakeFile(name, std::move(bytes), std::move(gzip)));
  }
  files_.try_emplace(std::string(kIndex), MakeFile(kIndex, std::string(kNotBuiltPage), {}));
}

const StudioFile* Studio::Find(std::string_view name) const {
  auto file = files_.find(name);
  return file == files_.end() ? nullptr : &file->second;
}

ngx_int_t SendStudio(RequestContext& context, std::string_view name) {
  const Studio* studio = context.location.studio;
  const StudioFile* file = studio == nullptr ? nullptr : studio->Find(name.empty() ? kIndex : name);
  if (file == nullptr) {
    return SendNativeReply(context, api::ErrorReply(api::ApiError::kNotFound, context.request_id),
                           "rejected");
  }
  const bool compressed = !file->gzip.empty() &&
                          api::AcceptsGzip(FindRequestHeader(context.request, "accept-encoding"));
  api::Reply reply;
  DescribeContent(*file, compressed, reply);
  if (api::MatchesEtag(FindRequestHeader(context.request, "if-none-match"), file->etag)) {
    reply.status = NGX_HTTP_NOT_MODIFIED;
    return SendNativeReply(context, std::move(reply), "ok");
  }
  return SendNativeReply(context, std::move(reply), "ok", compressed ? file->gzip : file->bytes);
}

char* PrepareStudio(ngx_conf_t* cf, LocationConfig& location) noexcept {
  if (location.service->settings == nullptr) return NGX_CONF_OK;
  const bool production = location.service->settings->mode == settings::Mode::kProduction;
  ngx_str_t folder = location.ui;
  if (folder.data == nullptr && production) return NGX_CONF_OK;
  if (folder.data == nullptr || View(folder) == "on") {
    folder = Reference(FirstExisting(kInstalledFolders));
  }
  if (View(folder) == "off") return NGX_CONF_OK;
  auto* failed = static_cast<char*>(NGX_CONF_ERROR);
  return Guarded<char*>(cf->log, failed, [&]() -> char* {
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, sizeof(SharedStudio));
    if (cleanup == nullptr || ngx_conf_full_name(cf->cycle, &folder, 0) != NGX_OK) return failed;
    auto* studio = new (cleanup->data) SharedStudio(LoadOnce(cf, std::string(View(folder))));
    cleanup->handler = DestroyStudio;
    location.studio = studio->get();
    return NGX_CONF_OK;
  });
}

}  // namespace agent_graph::nginx

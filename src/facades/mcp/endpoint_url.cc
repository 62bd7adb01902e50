#include "facades/mcp/endpoint_url.h"

#include "api/resources/file_record.h"

namespace agent_graph::mcp {
namespace {

// The location of the service. A proxy that changes it needs facades.mcp.url.
std::string RequestedUrl(const bridge::RequestHead& head) {
  std::string url = head.https ? "https://" : "http://";
  url += head.Header("host");
  return url + head.base_path;
}

}  // namespace

std::string EndpointUrl(const api::HandlerContext& context) {
  const settings::McpSettings& mcp = context.api().settings->facades.mcp;
  return mcp.url.empty() ? RequestedUrl(context.head()) + mcp.facade.path : mcp.url;
}

std::string FilesUrl(const api::HandlerContext& context) {
  const settings::McpSettings& mcp = context.api().settings->facades.mcp;
  std::string url = mcp.url;
  if (url.ends_with(mcp.facade.path)) {
    url.resize(url.size() - mcp.facade.path.size());
  } else {
    url = RequestedUrl(context.head());
  }
  return url + std::string(api::kFilesPath);
}

}  // namespace agent_graph::mcp

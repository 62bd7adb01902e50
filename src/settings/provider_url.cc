#include "settings/provider_url.h"

namespace agent_graph::settings {
namespace {

struct Call {
  std::string_view before;  // end of the base URL
  std::string_view path;
};
constexpr Call kCalls[] = {
    {.before = "", .path = "/chat/completions"}, {.before = "", .path = "/messages"},
    {.before = "/v1", .path = "/completions"},   {.before = "/v1", .path = "/responses"},
    {.before = "/v1", .path = "/embeddings"},
};

}  // namespace

Status CheckProviderUrl(const Value& entry, const std::string& base_url,
                        std::string_view public_url) {
  for (const Call& call : kCalls) {
    if (!base_url.ends_with(std::string(call.before) + std::string(call.path))) continue;
    return entry.Member("base_url")
        .Error("must end before " + std::string(call.path) + ", because the service adds the rest");
  }
  if (!public_url.starts_with(base_url + "/")) return Status::Ok();
  return entry.Member("base_url")
      .Error("must be " + std::string(public_url) + ", or may be left out");
}

}  // namespace agent_graph::settings

#include "api/resources/idempotency.h"

#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/sha256.h"
#include "runtime/runtime.h"

namespace agent_graph::api {
namespace {

constexpr char kFrameMember[] = "idempotency_key";

std::optional<std::string> HeaderKey(const HandlerContext& context, Problems& problems) {
  for (const auto& [name, value] : context.head().headers) {
    if (name != "idempotency-key") continue;
    if (!value.empty() && value.size() <= state::kRunKeyBytesMax) return value;
    problems.Add({"header", "Idempotency-Key"},
                 "must have 1 to " + std::to_string(state::kRunKeyBytesMax) + " bytes",
                 value.empty() ? ProblemType::kTooShort : ProblemType::kTooLong);
    return std::nullopt;
  }
  return std::nullopt;
}

// The frame's table of fields has checked its length.
std::optional<std::string> FrameKey(const json& body) {
  const json* member = FindMember(body, kFrameMember);
  if (member == nullptr || !member->is_string()) return std::nullopt;
  return member->get<std::string>();
}

// Equal bodies have equal hashes, in whichever order their members are.
std::string HashOf(const HandlerContext& context) {
  std::string hash;
  const auto compute = [&] {
    if (!context.head().websocket) {
      hash = Sha256Hex(DumpSortedJson(context.body()));
      return;
    }
    json body = context.body();
    body.erase(kFrameMember);
    hash = Sha256Hex(DumpSortedJson(body));
  };
  if (context.body_bytes() > context.api().settings->limits.json_io_pool_bytes) {
    context.api().runtime->RunOnIoPool(compute);
  } else {
    compute();
  }
  return hash;
}

}  // namespace

std::optional<state::RunKey> ReadRunKey(const HandlerContext& context, Problems& problems) {
  std::optional<std::string> key =
      context.head().websocket ? FrameKey(context.body()) : HeaderKey(context, problems);
  if (!key) return std::nullopt;
  const Route& route = context.route();
  std::string name(NameOf(route.method));
  name += ' ';
  name += route.pattern;
  return state::RunKey{std::move(name), *std::move(key), HashOf(context)};
}

}  // namespace agent_graph::api

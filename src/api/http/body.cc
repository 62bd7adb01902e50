#include "api/http/body.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "base/allocation_account.h"
#include "base/json.h"
#include "runtime/runtime.h"

namespace agent_graph::api {
namespace {

Status ReadFile(const bridge::Body& body, std::string& text) {
  text.resize(body.file_length);
  size_t done = 0;
  while (done < text.size()) {
    ssize_t got =
        pread(body.file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Status(StatusCode::kInternal, "the request body cannot be read back");
    done += static_cast<size_t>(got);
  }
  return Status::Ok();
}

ErrorInfo BodyProblem(std::string message, ProblemType type) {
  Problems problems;
  problems.Add({"body"}, std::move(message), type);
  return std::move(problems).Error();
}

struct Parsed {
  Status file = Status::Ok();
  Result<json> value = json();
  uint64_t tree_bytes = 0;  // 0: not known, because allocations are not counted
};

// Reads and parses the body. Closes its file and frees its text.
Parsed ReadAndParse(bridge::Body body, const settings::LimitSettings& limits) {
  Parsed parsed;
  if (body.in_file()) {
    parsed.file = ReadFile(body, body.bytes);
    body.file.Reset();
    if (!parsed.file.ok()) return parsed;
  }
  const AllocationScope tree;
  parsed.value = ParseJson(body.bytes, {limits.json_depth_max, limits.json_values_max});
  parsed.tree_bytes = static_cast<uint64_t>(std::max<int64_t>(tree.account().held(), 0));
  return parsed;
}

}  // namespace

std::optional<ErrorInfo> ReadBody(HandlerContext& context, BodyKind kind) {
  if (kind == BodyKind::kNone || kind == BodyKind::kStream) return std::nullopt;
  const settings::LimitSettings& limits = context.api().settings->limits;
  Result<bridge::Body> taken = context.exchange().body().Take(DeadlineAfter(bridge::kBodyWaitMax));
  if (!taken.ok()) return ErrorOf(taken.status());
  bridge::Body body = *std::move(taken);
  const uint64_t bytes = body.size();
  const bool in_file = body.in_file();
  if (bytes == 0) {
    if (kind == BodyKind::kOptionalJson) return std::nullopt;
    return BodyProblem("a JSON object is required", ProblemType::kMissing);
  }
  if (std::optional<ErrorInfo> error = AwaitBodyMemory(context.exchange(), bytes)) return error;
  Parsed parsed;
  auto parse = [&] { parsed = ReadAndParse(std::move(body), limits); };
  if (in_file || bytes > limits.json_io_pool_bytes) {
    context.api().runtime->RunOnIoPool(parse);
  } else {
    parse();
  }
  context.exchange().body().Freed();
  if (!parsed.file.ok()) return ErrorOf(parsed.file);
  if (!parsed.value.ok())
    return BodyProblem(parsed.value.status().message(), ProblemType::kJsonSyntax);
  if (parsed.value->is_null() && kind == BodyKind::kOptionalJson) return std::nullopt;
  if (!parsed.value->is_object())
    return BodyProblem("must be a JSON object", ProblemType::kObjectType);
  // Many small values take much more than their text.
  context.exchange().Hold(std::max(kBodyCopies * bytes, parsed.tree_bytes + 3 * bytes));
  context.SetBody(*std::move(parsed.value), bytes);
  return std::nullopt;
}

}  // namespace agent_graph::api

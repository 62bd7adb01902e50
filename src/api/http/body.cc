#include "api/http/body.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "base/json.h"
#include "base/json_weight.h"
#include "runtime/runtime.h"

namespace agent_graph::api {
namespace {

constexpr size_t kWeighedPieceBytes = 64 * 1024;

// Reads `size` bytes of the body's file at `offset`.
Status ReadFile(const bridge::Body& body, size_t offset, char* bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t got =
        pread(body.file.get(), bytes + done, size - done, static_cast<off_t>(offset + done));
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
};

// Weighs the body without keeping it.
Result<JsonWeight> Weigh(const bridge::Body& body) {
  JsonWeight weight(body.bytes);
  if (!body.in_file()) return weight;
  std::string piece;
  for (uint64_t done = 0; done < body.file_length; done += piece.size()) {
    piece.resize(std::min<uint64_t>(kWeighedPieceBytes, body.file_length - done));
    AG_RETURN_IF_ERROR(ReadFile(body, done, piece.data(), piece.size()));
    weight.Add(piece);
  }
  return weight;
}

// Reads and parses the body. Closes its file and frees its text.
Parsed ReadAndParse(bridge::Body body, const settings::LimitSettings& limits) {
  Parsed parsed;
  if (body.in_file()) {
    body.bytes.resize(body.file_length);
    parsed.file = ReadFile(body, 0, body.bytes.data(), body.bytes.size());
    body.file.Reset();
    if (!parsed.file.ok()) return parsed;
  }
  parsed.value = ParseJson(body.bytes, {limits.json_depth_max, limits.json_values_max});
  return parsed;
}

// Takes the body from the event loop. Its text is held by the exchange if it is in memory.
Result<bridge::Body> TakeBody(HandlerContext& context) {
  bridge::Exchange& exchange = context.exchange();
  if (const uint64_t bytes = context.head().late_body_bytes; bytes > 0) {
    AG_RETURN_IF_ERROR(AwaitInputMemory(exchange, bytes));
  }
  AG_ASSIGN_OR_RETURN(bridge::Body body, exchange.body().Take(DeadlineAfter(bridge::kBodyWaitMax)));
  exchange.Hold(body.bytes.size());
  exchange.body().CountedAsHeld();
  return body;
}

}  // namespace

std::optional<ErrorInfo> ReadBody(HandlerContext& context, BodyKind kind) {
  if (kind == BodyKind::kNone || kind == BodyKind::kStream) return std::nullopt;
  const settings::LimitSettings& limits = context.api().settings->limits;
  Result<bridge::Body> taken = TakeBody(context);
  if (!taken.ok()) return ErrorOf(taken.status());
  bridge::Body body = *std::move(taken);
  const uint64_t bytes = body.size();
  const bool on_pool = body.in_file() || bytes > limits.json_io_pool_bytes;
  const auto work = [&](const std::function<void()>& step) {
    on_pool ? context.api().runtime->RunOnIoPool(step) : step();
  };
  if (bytes == 0) {
    if (kind == BodyKind::kOptionalJson) return std::nullopt;
    return BodyProblem("a JSON object is required", ProblemType::kMissing);
  }
  Result<JsonWeight> weight = JsonWeight();
  work([&] { weight = Weigh(body); });
  if (!weight.ok()) return ErrorOf(weight.status());
  const uint64_t weighed = weight->bytes(limits.json_values_max);
  if (std::optional<ErrorInfo> error = AwaitBodyMemory(context.exchange(), weighed)) return error;
  Parsed parsed;
  work([&] { parsed = ReadAndParse(std::move(body), limits); });
  if (!parsed.file.ok()) return ErrorOf(parsed.file);
  if (!parsed.value.ok())
    return BodyProblem(parsed.value.status().message(), ProblemType::kJsonSyntax);
  if (parsed.value->is_null() && kind == BodyKind::kOptionalJson) return std::nullopt;
  if (!parsed.value->is_object())
    return BodyProblem("must be a JSON object", ProblemType::kObjectType);
  context.SetBody(*std::move(parsed.value), bytes);
  return std::nullopt;
}

}  // namespace agent_graph::api

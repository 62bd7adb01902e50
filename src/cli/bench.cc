// agent-graph bench: a small load test.
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "base/json.h"
#include "cli/api_client.h"
#include "cli/command.h"
#include "cli/load.h"

namespace agent_graph::cli {
namespace {

constexpr int64_t kRequestsDefault = 200;
constexpr int64_t kRequestsMax = 10'000'000;
constexpr int64_t kConcurrencyDefault = 8;
constexpr int64_t kConcurrencyMax = 256;

constexpr Option kBenchOptions[] = {
    kUrlOption,
    {.name = "requests", .value = "N", .help = "number of requests (200)"},
    {.name = "concurrency", .value = "N", .help = "requests in flight at once (8)"},
    {.name = "message", .value = "TEXT", .help = "the user's message (Hello)"},
};

// True for a chunk with a piece of text, or with a whole message.
bool HasMessage(std::string_view line) {
  const Result<json> chunk = ParseJson(line);
  return chunk.ok() && chunk->is_object() && chunk->value("event", json()) == "message";
}

std::string ErrorOf(std::string_view line) {
  const Result<json> chunk = ParseJson(line);
  if (!chunk.ok() || !chunk->is_object() || chunk->value("event", json()) != "error") return "";
  return DumpJson(chunk->value("data", json()));
}

// One request on a thread of its own, so that requests do not wait for each other.
Result<Measured> Ask(ApiClient& client, const std::string& message) {
  const json body = {{"messages", json::array({{{"role", "user"}, {"content", message}}})}};
  Measured measured;
  std::string error;
  const auto begin = MonotonicClock::now();
  AG_RETURN_IF_ERROR(client.Stream("/v1/graph/stream", body, [&](std::string_view line) {
    if (measured.first_text.count() == 0 && HasMessage(line)) {
      measured.first_text = MonotonicClock::now() - begin;
    }
    if (error.empty()) error = ErrorOf(line);
  }));
  measured.total = MonotonicClock::now() - begin;
  if (!error.empty()) return Status(StatusCode::kUnavailable, "the run failed: " + error);
  return measured;
}

Status RunBench(const Arguments& arguments, const Streams& streams) {
  AG_ASSIGN_OR_RETURN(const int64_t requests,
                      arguments.Number("requests", kRequestsDefault, 1, kRequestsMax));
  AG_ASSIGN_OR_RETURN(const int64_t concurrency,
                      arguments.Number("concurrency", kConcurrencyDefault, 1, kConcurrencyMax));
  const std::string message = arguments.Value("message", "Hello");
  std::vector<ApiClient> clients;
  clients.reserve(static_cast<size_t>(concurrency));
  for (int64_t i = 0; i < concurrency; ++i) clients.push_back(ApiClient::Of(arguments));
  // A wrong address fails here, before the load begins.
  AG_RETURN_IF_ERROR(Ask(clients[0], message).status());
  const LoadReport report = RunLoad(
      {.requests = static_cast<size_t>(requests), .concurrency = static_cast<size_t>(concurrency)},
      [&](size_t client) { return Ask(clients[client], message); });
  std::fputs(ReportText(report).c_str(), streams.out);
  if (report.failed == 0) return Status::Ok();
  return Status(StatusCode::kUnavailable, "the first failure: " + report.first_failure.message());
}

}  // namespace

const Command kBenchCommand = {
    .name = "bench",
    .operands_min = 0,
    .operands_max = 0,
    .summary = "measures how fast an agent answers",
    .help =
        "Sends the same message again and again, each time on a new conversation thread, and\n"
        "reports requests per second and the times to the first text and to the end. The pace of\n"
        "the model `demo` (delay_ms) counts, too. The conversations stay in the state.\n",
    .options = kBenchOptions,
    .run = RunBench,
};

}  // namespace agent_graph::cli

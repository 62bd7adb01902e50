// Arbitrary paths, queries and bodies of requests: parsing must be safe, values that the tables
// accept must be within their limits, and every refusal must be valid JSON.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "api/http/envelope.h"
#include "api/http/query.h"
#include "api/resources/message_input.h"
#include "api/resources/request_shapes.h"
#include "api/routes.h"
#include "base/json.h"
#include "settings/media_urls.h"

namespace agent_graph::api {
namespace {

constexpr size_t kMessageBytesMax = 64 * 1024;

void Require(bool condition) {
  if (!condition) std::abort();
}

void TryPath(std::string_view path) {
  for (std::string_view method : {"GET", "POST", "DELETE"}) {
    RouteMatch match = MatchRoute({}, method, path);
    if (match.kind != RouteMatch::Kind::kFound) continue;
    for (const std::string& parameter : match.path_parameters) {
      Require(parameter != "." && parameter != ".." && !parameter.starts_with("../"));
      (void)ThreadIdProblem(parameter);
      (void)MessageIdProblem(parameter);
    }
  }
}

void TryQuery(std::string_view text) {
  Problems problems;
  state::PageRequest page = ReadPage(Query(text), problems);
  if (problems.empty()) Require(page.limit >= 1 && page.limit <= kPageLimitMax);
}

void RefusalIsJson(Problems problems) {
  Require(json::accept(ErrorEnvelope(std::move(problems).Error(), "id")));
}

const settings::MediaUrls kMediaUrls;

void TryBody(const json& body, const FieldTable& table, size_t bytes) {
  Problems problems;
  CheckFields(body, table.fields, {"body"}, problems);
  (void)BodyThreadId(body, problems);
  if (!problems.empty()) return RefusalIsJson(std::move(problems));
  int64_t steps = IntegerOf(body, kRecursionLimit);
  if (&table == &kRunBody) Require(steps >= 1 && steps <= 100);
  Require(ChoiceOf(body, kResponseGranularity) < kGranularities.size());
  ReadMessages(body, "messages", {kMediaUrls, bytes, kMessageBytesMax}, problems);
  if (!problems.empty()) RefusalIsJson(std::move(problems));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  TryPath(text);
  TryQuery(text);
  Result<json> body = ParseJson(text);
  if (!body.ok()) return 0;
  Require(json::accept(DumpJson(*body)));
  if (!body->is_object()) return 0;
  for (const FieldTable* table :
       {&kRunBody, &kRunFrame, &kStopBody, &kFixBody, &kConfigBody, &kStateBody, &kMessagesBody}) {
    TryBody(*body, *table, size);
  }
  return 0;
}

}  // namespace agent_graph::api

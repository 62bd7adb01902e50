// The routes below /v1/store.

#include "agent_graph/json.h"
#include "api/http/context.h"
#include "api/http/page_reads.h"
#include "api/http/request_memory.h"
#include "api/resources/handlers.h"
#include "api/resources/memory_request.h"
#include "api/resources/memory_shapes.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own_json.h"

namespace agent_graph::api {
namespace {

memory::WaitOptions WaitOptionsOf(HandlerContext& context) {
  return {context.exchange().cancellation(), kNoDeadline};
}

json TextOrNull(const std::string& text) {
  return text.empty() ? json() : json(text);
}

// Returns the content: a message in the form of thread messages, or a text.
json ContentJson(const state::MemoryRecord& memory) {
  if (memory.message_json.empty()) return memory.content;
  Result<json> message = ParseJson(memory.message_json, kOwnJsonLimits);
  return message.ok() ? *std::move(message) : json(memory.content);
}

// Clients read `id`, `timestamp` and the category in the metadata; the documented response also has
// `memory_id` and `category`.
json RecordJson(const state::MemoryRecord& memory) {
  Result<json> metadata = ParseJson(memory.metadata_json, kOwnJsonLimits);
  json record;
  record["id"] = memory.id;
  record["memory_id"] = memory.id;
  record["content"] = ContentJson(memory);
  record["score"] = nullptr;
  record["memory_type"] = memory.memory_type;
  record["category"] = memory.category;
  record["metadata"] =
      metadata.ok() && metadata->is_object() ? *std::move(metadata) : json::object();
  record["metadata"]["category"] = memory.category;
  record["vector"] = json::array();
  record["user_id"] = TextOrNull(memory.owner);
  record["agent_id"] = TextOrNull(memory.agent_id);
  record["thread_id"] = TextOrNull(memory.thread_id);
  record["timestamp"] = IsoTimestamp(memory.created_micros);
  record["created_at"] = IsoTimestamp(memory.created_micros);
  record["updated_at"] = IsoTimestamp(memory.updated_micros);
  return record;
}

const std::string& MemoryId(HandlerContext& context, Problems& problems) {
  const std::string& memory_id = context.head().path_parameters.at(0);
  if (auto problem = MessageIdProblem(memory_id)) {
    problems.Add({"path", "memory_id"}, *std::move(problem), ProblemType::kValue);
  }
  return memory_id;
}

}  // namespace

void StoreMemory(HandlerContext& context) {
  Problems problems;
  const memory::Access access = ReadMemoryAccess(context, problems);
  memory::NewMemory memory = ReadNewMemory(context, problems);
  MemoryContent content = ReadMemoryContent(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  memory.content = content.text;
  StoredMemoryMessage message = StoreMemoryMessage(context, std::move(content));
  if (message.error) return context.Fail(*message.error);
  memory.message_json = std::move(message.json);
  Result<std::string> id = context.memory().Store(access, memory, WaitOptionsOf(context));
  if (!id.ok()) return context.Fail(id.status());
  context.Succeed(DumpJson({{"memory_id", *id}}), "memory stored");
}

void SearchMemories(HandlerContext& context) {
  Problems problems;
  const memory::Access access = ReadMemoryAccess(context, problems);
  const memory::MemoryQuery query = ReadMemoryQuery(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  const auto search = context.memory().PrepareSearch(access, query, WaitOptionsOf(context));
  if (!search.ok()) return context.Fail(search.status());
  // Only now, because the embedding of the query may have taken long.
  PageReads::Place place;
  if (auto error = EnterPageReads(context.exchange(), *context.api().page_searches,
                                  context.api().settings->limits, place)) {
    return context.Fail(*error);
  }
  auto hits = context.memory().RunSearch(access, query, *search);
  if (!hits.ok()) return context.Fail(hits.status());
  json results = json::array();
  for (const state::MemoryHit& hit : *hits) {
    results.push_back(RecordJson(hit.memory));
    results.back()["score"] = hit.score;
  }
  context.Succeed(DumpJson({{"results", std::move(results)}}));
}

void ListMemories(HandlerContext& context) {
  Problems problems;
  const memory::Access access = ReadMemoryAccess(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  const json* cursor = FindMember(context.body(), "cursor");
  auto page = context.memory().List(access, {}, MemoryLimit(context, kMemoryListLimit),
                                    cursor != nullptr ? cursor->get<std::string>() : "");
  if (!page.ok()) return context.Fail(page.status());
  json memories = json::array();
  for (const state::MemoryRecord& memory : page->memories) memories.push_back(RecordJson(memory));
  context.Succeed(DumpJson(
      {{"memories", std::move(memories)}, {"next_cursor", TextOrNull(page->next_cursor)}}));
}

void GetMemory(HandlerContext& context) {
  Problems problems;
  const memory::Access access = ReadMemoryAccess(context, problems);
  const std::string& memory_id = MemoryId(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<state::MemoryRecord> memory = context.memory().Get(access, memory_id);
  if (!memory.ok()) return context.Fail(memory.status());
  context.Succeed(DumpJson({{"memory", RecordJson(*memory)}}));
}

void UpdateMemory(HandlerContext& context) {
  Problems problems;
  const memory::Access access = ReadMemoryAccess(context, problems);
  const std::string& memory_id = MemoryId(context, problems);
  memory::MemoryChange change;
  MemoryContent content = ReadMemoryContent(context, problems);
  MemoryMetadata metadata = ReadMemoryMetadata(context, problems);
  change.metadata_json = std::move(metadata.json);
  change.category = std::move(metadata.category);
  if (const json* options = FindMember(context.body(), "options")) {
    const json* replace = FindMember(*options, "replace_metadata");
    change.replace_metadata = replace != nullptr && replace->is_boolean() && replace->get<bool>();
  }
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  change.content = content.text;
  StoredMemoryMessage message = StoreMemoryMessage(context, std::move(content));
  if (message.error) return context.Fail(*message.error);
  change.message_json = std::move(message.json);
  Status updated = context.memory().Update(access, memory_id, change, WaitOptionsOf(context));
  if (!updated.ok()) return context.Fail(updated);
  context.Succeed(R"({"success":true,"data":true})", "memory updated");
}

void DeleteMemory(HandlerContext& context) {
  Problems problems;
  const memory::Access access = ReadMemoryAccess(context, problems);
  const std::string& memory_id = MemoryId(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Status deleted = context.memory().Delete(access, memory_id);
  if (!deleted.ok()) return context.Fail(deleted);
  context.Succeed(R"({"success":true,"data":true})", "memory deleted");
}

void ForgetMemories(HandlerContext& context) {
  Problems problems;
  const memory::Access access = ReadMemoryAccess(context, problems);
  RefuseLostIds(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<uint64_t> count =
      context.memory().Forget(access, ReadMemoryFilter(context), WaitOptionsOf(context));
  if (!count.ok()) return context.Fail(count.status());
  context.Succeed(DumpJson({{"success", true}, {"data", {{"deleted", *count}}}}),
                  "memories forgotten");
}

}  // namespace agent_graph::api

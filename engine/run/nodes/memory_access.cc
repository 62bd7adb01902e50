#include "run/nodes/memory_access.h"

#include <algorithm>

#include "agent_graph/error.h"
#include "agent_graph/json.h"
#include "base/allocation_account.h"
#include "base/json.h"
#include "base/sha256.h"
#include "message/codec.h"
#include "message/texts.h"
#include "state/limits.h"

namespace agent_graph::run {
namespace {

constexpr size_t kContentBytesMax = 1024 * 1024;
constexpr uint32_t kLimitMax = 1000;

[[noreturn]] void Throw(const Status& status) {
  if (status.code() == StatusCode::kCancelled) throw RunCancelled(status.message());
  throw MemoryError(status.message());
}

template <typename Names>
size_t IndexOf(const Names& names, const std::string& name, const char* what) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw MemoryError(std::string(what) + " \"" + name + "\" is unknown");
  return static_cast<size_t>(found - names.begin());
}

MemoryRecord ToRecord(state::MemoryRecord memory) {
  MemoryRecord record;
  record.id = std::move(memory.id);
  record.content = std::move(memory.content);
  record.memory_type = std::move(memory.memory_type);
  record.category = std::move(memory.category);
  record.agent_id = std::move(memory.agent_id);
  record.user_id = std::move(memory.owner);
  record.metadata_json = std::move(memory.metadata_json);
  record.timestamp = static_cast<double>(memory.created_micros) / 1e6;
  if (!memory.message_json.empty()) {
    if (Result<Message> message = message::FromJsonText(memory.message_json); message.ok()) {
      record.message = *std::move(message);
    }
  }
  return record;
}

void AddEquals(const char* key, const std::string& value, state::MemoryFilter& filter) {
  if (!value.empty()) filter.equals.push_back({key, DumpJson(json(value))});
}

}  // namespace

memory::MemoryStore& RunMemories::store() const {
  if (environment_->services->memories == nullptr)
    throw MemoryError("no memory store is configured");
  return *environment_->services->memories;
}

memory::Access RunMemories::AccessOf(const std::string& agent_id) const {
  memory::Access access;
  access.user_id = environment_->user_id;
  // Memories of a user's run belong to that user, even if users may access each other's rows.
  access.scope = access.user_id.empty() ? environment_->scope : state::Scope::Owner(access.user_id);
  access.agent_id = agent_id;
  return access;
}

// Ids of memories are unique among all users, and clients choose those of runs, so the id depends
// on the user and the thread. It depends on the content, so that nothing is lost if a repeated call
// stores something else. The ordinal counts memories of equal content only: a repeated call may
// store in another order, or leave one out.
std::string RunMemories::NextId(const memory::NewMemory& memory) {
  constexpr size_t kIdDigits = 32;
  const std::string run_id = outlives_run_ ? std::string() : environment_->run_id;
  std::string place;
  for (const std::string* part : {&environment_->user_id, &environment_->thread_id, &run_id, &key_,
                                  &memory.content, &memory.message_json}) {
    place += std::to_string(part->size()) + ':' + *part;
  }
  const std::string digest = Sha256Hex(place);
  uint64_t ordinal = 0;
  {
    MutexLock lock(mutex_);
    ordinal = stored_[digest]++;
  }
  return Sha256Hex(digest + std::to_string(ordinal)).substr(0, kIdDigits);
}

std::string RunMemories::Store(const NewMemory& memory) {
  const TolerateAllocations tolerated;
  IndexOf(memory::kMemoryTypes, memory.memory_type, "memory_type");
  memory::NewMemory stored;
  stored.content = memory.message ? message::JoinedTexts(*memory.message) : memory.content;
  if (memory.message) stored.message_json = message::ToJsonText(*memory.message);
  if (memory.message ? memory.message->content.empty() : stored.content.empty()) {
    throw MemoryError("a memory must hold text or a message with content");
  }
  if (std::max(stored.content.size(), stored.message_json.size()) + memory.metadata_json.size() >
      kContentBytesMax) {
    throw MemoryError("a memory must have at most " + std::to_string(kContentBytesMax) + " bytes");
  }
  for (const std::string* name : {&memory.category, &memory.agent_id}) {
    if (name->size() <= state::kIdBytesMax) continue;
    throw MemoryError("category and agent_id must have at most " +
                      std::to_string(state::kIdBytesMax) + " bytes");
  }
  const Result<json> metadata = ParseJson(memory.metadata_json);
  if (!metadata.ok() || !metadata->is_object()) throw MemoryError("metadata must be an object");
  stored.memory_type = memory.memory_type;
  stored.category = memory.category;
  stored.thread_id = environment_->thread_id;
  stored.metadata_json = DumpJson(*metadata);
  stored.id = NextId(stored);
  Result<std::string> id = store().Store(AccessOf(memory.agent_id), stored, wait_options());
  if (!id.ok()) Throw(id.status());
  return *std::move(id);
}

std::vector<FoundMemory> RunMemories::Search(const MemorySearch& search) {
  const TolerateAllocations tolerated;
  memory::MemoryQuery query;
  query.text = search.query;
  query.strategy =
      static_cast<memory::Strategy>(IndexOf(memory::kStrategies, search.strategy, "strategy"));
  query.limit = std::min(search.limit, kLimitMax);
  if (search.score_min > 0) query.score_min = search.score_min;
  AddEquals("memory_type", search.memory_type, query.filter);
  AddEquals("category", search.category, query.filter);
  auto hits = store().Search(AccessOf(search.agent_id), query, wait_options());
  if (!hits.ok()) Throw(hits.status());
  std::vector<FoundMemory> found;
  for (state::MemoryHit& hit : *hits) {
    found.push_back({ToRecord(std::move(hit.memory)), hit.score});
  }
  return found;
}

std::optional<MemoryRecord> RunMemories::Get(const std::string& id) {
  const TolerateAllocations tolerated;
  Result<state::MemoryRecord> memory = store().Get(AccessOf(""), id);
  if (memory.status().code() == StatusCode::kNotFound) return std::nullopt;
  if (!memory.ok()) Throw(memory.status());
  return ToRecord(*std::move(memory));
}

bool RunMemories::Delete(const std::string& id) {
  const TolerateAllocations tolerated;
  const Status deleted = store().Delete(AccessOf(""), id);
  if (deleted.code() == StatusCode::kNotFound) return false;
  if (!deleted.ok()) Throw(deleted);
  return true;
}

}  // namespace agent_graph::run

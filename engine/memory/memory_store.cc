#include "memory/memory_store.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "agent_graph/json.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/own_json.h"
#include "base/text.h"
#include "message/codec.h"
#include "state/search/filter.h"

namespace agent_graph::memory {
namespace {

// A typical ratio of tokenizers for ordinary text.
constexpr uint64_t kBytesPerToken = 4;

constexpr uint64_t kSeparatorBytes = 1;  // of JoinedTexts: a line break

constexpr uint64_t kForgetPage = 500;
constexpr size_t kRelatedPerHit = 8;
constexpr size_t kRelatedMax = 64;
constexpr double kRelatedWeight = 0.5;

state::MemoryFilter WithAgent(state::MemoryFilter filter, const Access& access) {
  if (!access.agent_id.empty()) {
    filter.equals.push_back({"agent_id", DumpJson(json(access.agent_id))});
  }
  return filter;
}

state::Ranking RankingOf(Strategy strategy) {
  switch (strategy) {
    case Strategy::kTemporal:
      return state::Ranking::kNewest;
    case Strategy::kRelevance:
      return state::Ranking::kWords;
    case Strategy::kHybrid:
      return state::Ranking::kHybrid;
    case Strategy::kSimilarity:
    case Strategy::kGraphTraversal:
      return state::Ranking::kVector;
  }
  return state::Ranking::kVector;
}

std::vector<std::string> RelatedIds(const std::string& metadata_json) {
  std::vector<std::string> ids;
  const Result<json> metadata = ParseJson(metadata_json, kOwnJsonLimits);
  if (!metadata.ok() || !metadata->is_object()) return ids;
  const auto related = metadata->find("related_to");
  if (related == metadata->end() || !related->is_array()) return ids;
  for (const json& id : *related) {
    if (ids.size() == kRelatedPerHit) break;
    if (id.is_string()) ids.push_back(id.get<std::string>());
  }
  return ids;
}

// Keeps the first `bytes_max` bytes of the text, and of the message's text blocks, which the text
// has joined (see message::JoinedTexts).
void CutText(state::MemoryRecord& memory, uint64_t bytes_max) {
  memory.content.resize(CutAtCharacter(memory.content, bytes_max).size());
  if (memory.message_json.empty()) return;
  Result<Message> message = message::FromJsonText(memory.message_json);
  if (!message.ok()) return;
  uint64_t left = memory.content.size();
  uint64_t separator = 0;
  for (ContentBlock& block : message->content) {
    auto* text = std::get_if<TextBlock>(&block);
    if (text == nullptr || text->text.empty()) continue;
    left -= std::min(left, std::exchange(separator, kSeparatorBytes));
    text->text.resize(CutAtCharacter(text->text, left).size());
    left -= text->text.size();
  }
  memory.message_json = message::ToJsonText(*message);
}

// Cuts the list where its texts would exceed the budget.
void KeepWithinTokens(std::vector<state::MemoryHit>& hits, uint64_t tokens_max) {
  uint64_t left = tokens_max;
  for (size_t i = 0; i < hits.size(); ++i) {
    const std::string& content = hits[i].memory.content;
    const uint64_t tokens = (content.size() + kBytesPerToken - 1) / kBytesPerToken;
    if (tokens <= left) {
      left -= tokens;
      continue;
    }
    if (i == 0) CutText(hits[i].memory, tokens_max * kBytesPerToken);
    hits.resize(std::max<size_t>(i, 1));
    return;
  }
}

}  // namespace

Result<state::Embedding> MemoryStore::Embed(const std::string& text, const WaitOptions& wait) {
  if (IsBlank(text)) return state::Embedding();
  AG_ASSIGN_OR_RETURN(const std::vector<float> vector,
                      embedder_.Embed(text, wait.cancellation, wait.deadline));
  state::Embedding embedding;
  embedding.space = embedder_.space();
  embedding.values.resize(vector.size() * sizeof(float));
  std::memcpy(embedding.values.data(), vector.data(), embedding.values.size());
  return embedding;
}

Result<std::string> MemoryStore::Store(const Access& access, const NewMemory& memory,
                                       WaitOptions wait) {
  state::StoreMemoryRequest store;
  AG_ASSIGN_OR_RETURN(store.embedding, Embed(memory.content, wait));
  store.scope = access.scope;
  store.record.id = memory.id.empty() ? NewHexId() : memory.id;
  store.record.owner = access.user_id;
  store.record.agent_id = access.agent_id;
  store.record.thread_id = memory.thread_id;
  store.record.memory_type = memory.memory_type;
  store.record.category = memory.category;
  store.record.content = memory.content;
  store.record.message_json = memory.message_json;
  store.record.metadata_json = memory.metadata_json;
  const Status stored = memories_.StoreMemory(store);
  const bool is_repeated = stored.code() == StatusCode::kConflict && !memory.id.empty();
  if (!stored.ok() && !is_repeated) return stored;
  return std::move(store.record.id);
}

Result<state::MemoryRecord> MemoryStore::Get(const Access& access, const std::string& id) {
  return memories_.GetMemory({access.scope, id, access.agent_id});
}

Status MemoryStore::Update(const Access& access, const std::string& id, const MemoryChange& change,
                           WaitOptions wait) {
  state::UpdateMemoryRequest update;
  AG_ASSIGN_OR_RETURN(update.embedding, Embed(change.content, wait));
  update.name = {access.scope, id, access.agent_id};
  update.content = change.content;
  update.message_json = change.message_json;
  update.category = change.category;
  update.metadata_json = change.metadata_json;
  update.replace_metadata = change.replace_metadata;
  return memories_.UpdateMemory(update);
}

Status MemoryStore::Delete(const Access& access, const std::string& id) {
  return memories_.DeleteMemory({access.scope, id, access.agent_id});
}

Result<state::MemoryPage> MemoryStore::List(const Access& access, state::MemoryFilter filter,
                                            uint64_t limit, const std::string& cursor) {
  return memories_.ListMemories(
      {access.scope, WithAgent(std::move(filter), access), limit, cursor});
}

Result<uint64_t> MemoryStore::Forget(const Access& access, state::MemoryFilter filter,
                                     WaitOptions wait) {
  filter = WithAgent(std::move(filter), access);
  uint64_t count = 0;
  std::string cursor;
  do {
    if (wait.cancellation.cancelled()) {
      return Status(StatusCode::kCancelled, "the request was cancelled");
    }
    AG_ASSIGN_OR_RETURN(const state::MemoryPage page,
                        memories_.ListMemories({access.scope, filter, kForgetPage, cursor}));
    cursor = page.next_cursor;
    state::RemoveMemoriesRequest remove{access.scope, filter, {}};
    for (const state::MemoryRecord& memory : page.memories) remove.ids.push_back(memory.id);
    if (remove.ids.empty()) continue;
    AG_ASSIGN_OR_RETURN(const state::RemovedMemories removed, memories_.RemoveMemories(remove));
    count += removed.count;
  } while (!cursor.empty());
  return count;
}

Result<std::vector<state::MemoryHit>> MemoryStore::Search(const Access& access,
                                                          const MemoryQuery& query,
                                                          WaitOptions wait) {
  AG_ASSIGN_OR_RETURN(const state::SearchMemoriesRequest search,
                      PrepareSearch(access, query, wait));
  return RunSearch(access, query, search);
}

Result<state::SearchMemoriesRequest> MemoryStore::PrepareSearch(const Access& access,
                                                                const MemoryQuery& query,
                                                                WaitOptions wait) {
  state::SearchMemoriesRequest search;
  search.scope = access.scope;
  search.filter = WithAgent(query.filter, access);
  search.ranking = RankingOf(query.strategy);
  // The other rankings compare vectors; the text may be large.
  if (search.ranking == state::Ranking::kWords || search.ranking == state::Ranking::kHybrid) {
    search.query = query.text;
  }
  search.metric = query.metric;
  search.limit = query.limit;
  search.score_min = query.score_min;
  if (search.ranking != state::Ranking::kWords) {
    AG_ASSIGN_OR_RETURN(search.embedding, Embed(query.text, wait));
  }
  return search;
}

Result<std::vector<state::MemoryHit>> MemoryStore::RunSearch(
    const Access& access, const MemoryQuery& query, const state::SearchMemoriesRequest& search) {
  AG_ASSIGN_OR_RETURN(state::MemoryHits found, memories_.SearchMemories(search));
  if (query.strategy == Strategy::kGraphTraversal) {
    AG_RETURN_IF_ERROR(AddRelated(access, query, found.hits));
  }
  KeepWithinTokens(found.hits, query.tokens_max);
  return std::move(found.hits);
}

Status MemoryStore::AddRelated(const Access& access, const MemoryQuery& query,
                               std::vector<state::MemoryHit>& hits) {
  const state::FilterMatcher filter(query.filter);
  std::unordered_set<std::string> known;
  for (const state::MemoryHit& hit : hits) known.insert(hit.memory.id);
  std::vector<state::MemoryHit> related;
  size_t asked = 0;
  for (const state::MemoryHit& hit : hits) {
    // Must not rank above the hit that refers to it. Scores may be negative.
    const double score = std::min(hit.score, kRelatedWeight * hit.score);
    if (query.score_min && score < *query.score_min) continue;
    for (const std::string& id : RelatedIds(hit.memory.metadata_json)) {
      if (!known.insert(id).second || ++asked > kRelatedMax) continue;
      Result<state::MemoryRecord> memory = Get(access, id);
      if (memory.status().code() == StatusCode::kNotFound ||
          memory.status().code() == StatusCode::kInvalidArgument) {
        continue;
      }
      if (!memory.ok()) return memory.status();
      if (!filter.Matches(*memory)) continue;
      related.push_back({*std::move(memory), score});
    }
  }
  hits.insert(hits.end(), std::make_move_iterator(related.begin()),
              std::make_move_iterator(related.end()));
  std::ranges::stable_sort(hits, std::greater(), &state::MemoryHit::score);
  if (hits.size() > query.limit) hits.resize(query.limit);
  return Status::Ok();
}

}  // namespace agent_graph::memory

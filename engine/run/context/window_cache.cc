#include "run/context/window_cache.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/json_weight.h"
#include "message/codec.h"

namespace agent_graph::run {
namespace {

// More threads than this are not remembered, however small their windows are.
constexpr size_t kThreadsMax = 4096;
// One window takes at most this part of the bound.
constexpr size_t kWindowParts = 16;
// A decoded message takes about as much memory as its text.
constexpr size_t kForms = 2;

// Names the newest message that has a sequence number. nullopt: there is none.
std::optional<state::KnownWindow> NameOf(const DecodedWindow& window) {
  const auto newest = std::find_if(window.stored.rbegin(), window.stored.rend(),
                                   [](const auto& message) { return message.sequence > 0; });
  if (newest == window.stored.rend()) return std::nullopt;
  return state::KnownWindow{.thread_number = window.thread_number,
                            .version = window.version,
                            .through = newest->sequence,
                            .message_id = newest->id};
}

}  // namespace

WindowCache::WindowCache(size_t bytes_max, std::function<void(int64_t bytes)> count_bytes)
    : bytes_max_(bytes_max), count_bytes_(std::move(count_bytes)), entries_(kThreadsMax + 1) {}

WindowCache::~WindowCache() {
  Clear();
}

std::optional<state::KnownWindow> WindowCache::Find(const std::string& thread_id) {
  MutexLock lock(mutex_);
  const Entry* entry = entries_.Find(thread_id);
  return entry == nullptr ? std::nullopt : std::optional(entry->known);
}

std::optional<DecodedWindow> WindowCache::Take(const std::string& thread_id) {
  MutexLock lock(mutex_);
  Entry* entry = entries_.Find(thread_id);
  if (entry == nullptr || !entry->window) return std::nullopt;
  std::optional<DecodedWindow> window = std::exchange(entry->window, std::nullopt);
  Count(*entry, 0);
  return window;
}

void WindowCache::Keep(const std::string& thread_id, DecodedWindow window) {
  std::optional<state::KnownWindow> known = NameOf(window);
  const size_t bytes = kForms * WindowWeight(window.stored);
  MutexLock lock(mutex_);
  const bool kept = known && window.version != 0 && bytes <= bytes_max_ / kWindowParts;
  if (!kept) return Drop(thread_id);
  while (bytes_ + bytes > bytes_max_ || entries_.size() >= kThreadsMax) {
    const std::string* oldest = entries_.OldestKey();
    if (oldest == nullptr) break;
    Drop(std::string(*oldest));
  }
  if (entries_.Find(thread_id) == nullptr) entries_.Put(thread_id, {});
  Entry& entry = *entries_.Find(thread_id);
  entry.known = *std::move(known);
  entry.window = std::move(window);
  Count(entry, bytes);
}

void WindowCache::Forget(const std::string& thread_id) {
  MutexLock lock(mutex_);
  Drop(thread_id);
}

void WindowCache::Clear() {
  for (;;) {
    MutexLock lock(mutex_);  // for one window at a time, because freeing all takes milliseconds
    const std::string* oldest = entries_.OldestKey();
    if (oldest == nullptr) return;
    Drop(std::string(*oldest));
  }
}

void WindowCache::Drop(const std::string& thread_id) {
  Entry* entry = entries_.Peek(thread_id);
  if (entry == nullptr) return;
  Count(*entry, 0);
  entries_.Erase(thread_id);
}

void WindowCache::Count(Entry& entry, size_t bytes) {
  const size_t before = std::exchange(entry.bytes, bytes);
  bytes_ = bytes_ - before + bytes;
  if (count_bytes_) count_bytes_(static_cast<int64_t>(bytes) - static_cast<int64_t>(before));
}

Result<std::vector<Message>> CompleteWindow(DecodedWindow window, state::BeginRunReply& reply) {
  if (window.thread_number != reply.thread_number || window.version != reply.window_version) {
    return NotFound("the kept window is of another thread, or out of date");
  }
  std::vector<state::StoredMessage> fresh = std::move(reply.state.window);
  std::vector<state::StoredMessage>& complete = reply.state.window;
  complete.clear();
  std::vector<Message> messages;
  complete.reserve(reply.window_sequences.size() + 2);
  messages.reserve(reply.window_sequences.size() + 2);
  // The messages that the last runs of this worker have added, by their ids: the index avoids a
  // search for each of the thousands that a client may have added meanwhile.
  std::unordered_map<std::string, size_t> added;
  for (size_t i = 0; i < window.stored.size(); ++i) {
    const uint64_t sequence = window.stored[i].sequence;
    if (sequence == 0 || sequence > reply.known_through) added.emplace(window.stored[i].id, i);
  }
  size_t next_fresh = 0;
  size_t next = 0;  // in `window`
  const auto take = [&](size_t place) {
    complete.push_back(std::move(window.stored[place]));
    messages.push_back(std::move(window.messages[place]));
    next = place + 1;
  };
  for (const uint64_t sequence : reply.window_sequences) {
    if (sequence <= reply.known_through) {
      while (next < window.stored.size() && window.stored[next].sequence < sequence &&
             window.stored[next].sequence > 0) {
        ++next;
      }
      const bool there = next < window.stored.size() && window.stored[next].sequence == sequence;
      if (!there) return NotFound("a message of the window is not kept");
      take(next);
      continue;
    }
    if (next_fresh == fresh.size() || fresh[next_fresh].sequence != sequence) {
      return NotFound("a message of the window was not sent");
    }
    state::StoredMessage& stored = fresh[next_fresh++];
    const auto own = added.find(stored.id);
    if (own != added.end() && own->second >= next &&
        window.stored[own->second].json == stored.json) {
      take(own->second);
      complete.back().sequence = sequence;
      continue;
    }
    AG_ASSIGN_OR_RETURN(messages.emplace_back(), message::FromJsonText(stored.json));
    complete.push_back(std::move(stored));
  }
  return messages;
}

uint64_t WindowWeight(const std::vector<state::StoredMessage>& window) {
  uint64_t weight = json_weight::kMessage * window.size();
  for (const state::StoredMessage& message : window) weight += message.json.size();
  return weight;
}

}  // namespace agent_graph::run

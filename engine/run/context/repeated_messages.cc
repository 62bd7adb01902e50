#include "run/context/repeated_messages.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "message/codec.h"

namespace agent_graph::run {
namespace {

// Returns role and content as text for comparison, without what the service adds.
std::string ComparedText(const Message& message) {
  Message compared;
  compared.role = message.role;
  compared.content = message.content;
  for (ContentBlock& block : compared.content) {
    auto* media = std::get_if<MediaBlock>(&block);
    // A file sent within the message is stored again each time, with another id.
    if (media != nullptr && media->media.size_bytes) media->media.file_id.clear();
  }
  return message::ToJsonText(compared);
}

bool HoldsResultsOnly(const Message& message) {
  return message.role == Role::kTool && !message.content.empty() &&
         message.ToolResults().size() == message.content.size();
}

// True for a message with which a turn can end.
bool IsAnswer(const Message& message) {
  return message.role == Role::kAssistant && message.ToolCalls().empty();
}

// Finds the messages of one request in a window. Clients choose the number of both, so neither is
// searched for each message of the other.
class WindowIndex {
 public:
  WindowIndex(const std::vector<Message>& window, const std::vector<Message>& request)
      : window_(window) {
    for (const Message& message : request) {
      if (!message.id.empty()) places_.emplace(message.id, window.size());
    }
    if (places_.empty()) return;
    for (size_t i = window.size(); i > 0; --i) {
      const auto wanted = places_.find(window[i - 1].id);
      if (wanted != places_.end()) wanted->second = i - 1;
    }
  }

  std::optional<size_t> FindById(const Message& message) const {
    const auto found = places_.find(message.id);
    if (found == places_.end() || found->second == window_.size()) return std::nullopt;
    if (ComparedText(window_[found->second]) != ComparedText(message)) return std::nullopt;
    return found->second;
  }

  // Searches only behind the newest assistant message, because an older call may have the same id.
  std::optional<size_t> FindResult(const Message& message) {
    if (!results_) {
      results_.emplace();
      for (size_t i = window_.size(); i > 0 && window_[i - 1].role != Role::kAssistant; --i) {
        if (window_[i - 1].role == Role::kTool)
          results_->emplace(ComparedText(window_[i - 1]), i - 1);
      }
    }
    const auto found = results_->find(ComparedText(message));
    return found == results_->end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const std::vector<Message>& window_;
  // The first message with each id of the request; the window's size if there is none.
  std::unordered_map<std::string_view, size_t> places_;
  std::optional<std::unordered_map<std::string, size_t>> results_;
};

}  // namespace

Repetition FindRepetition(const std::vector<Message>& window, const std::vector<Message>& request,
                          bool results_by_call) {
  Repetition repetition;
  WindowIndex index(window, request);
  std::vector<size_t> places;
  for (const Message& message : request) {
    std::optional<size_t> place;
    if (!message.id.empty()) place = index.FindById(message);
    // The message may have an id that the client did not send: accepted runs assign ids.
    if (!place && results_by_call && HoldsResultsOnly(message)) place = index.FindResult(message);
    repetition.known.push_back(place.has_value());
    if (place) places.push_back(*place);
  }
  if (places.empty() || places.size() < request.size()) return repetition;
  const auto [first, last] = std::minmax_element(places.begin(), places.end());
  std::vector<bool> is_of_request(window.size());
  for (const size_t place : places) is_of_request[place] = true;
  const auto is_foreign = [&](size_t i) {
    return window[i].role == Role::kUser && !is_of_request[i];
  };
  // If other messages of the user are in between, the request's messages were not one turn.
  for (size_t i = *first; i < *last; ++i) {
    if (is_foreign(i)) return repetition;
  }
  repetition.answer_begins = repetition.answer_ends = *last + 1;
  while (repetition.answer_ends < window.size() && !is_foreign(repetition.answer_ends)) {
    ++repetition.answer_ends;
  }
  repetition.is_latest_turn = repetition.answer_ends == window.size();
  repetition.is_answered_turn = !repetition.is_latest_turn &&
                                repetition.answer_ends > repetition.answer_begins &&
                                IsAnswer(window[repetition.answer_ends - 1]);
  return repetition;
}

}  // namespace agent_graph::run

#include "run/context/repeated_messages.h"

#include <algorithm>
#include <optional>
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

std::optional<size_t> FindById(const std::vector<Message>& window, const Message& message) {
  for (size_t i = 0; i < window.size(); ++i) {
    if (window[i].id != message.id) continue;
    return ComparedText(window[i]) == ComparedText(message) ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

// Searches only behind the newest assistant message, because an older call may have the same id.
std::optional<size_t> FindResult(const std::vector<Message>& window, const Message& message) {
  const std::string compared = ComparedText(message);
  for (size_t i = window.size(); i > 0 && window[i - 1].role != Role::kAssistant; --i) {
    if (window[i - 1].role == Role::kTool && ComparedText(window[i - 1]) == compared) return i - 1;
  }
  return std::nullopt;
}

}  // namespace

Repetition FindRepetition(const std::vector<Message>& window, const std::vector<Message>& request,
                          bool results_by_call) {
  Repetition repetition;
  std::vector<size_t> places;
  for (const Message& message : request) {
    std::optional<size_t> place;
    if (!message.id.empty()) place = FindById(window, message);
    // The message may have an id that the client did not send: accepted runs assign ids.
    if (!place && results_by_call && HoldsResultsOnly(message)) {
      place = FindResult(window, message);
    }
    repetition.known.push_back(place.has_value());
    if (place) places.push_back(*place);
  }
  if (places.empty() || places.size() < request.size()) return repetition;
  const auto [first, last] = std::minmax_element(places.begin(), places.end());
  const auto is_foreign = [&](size_t i) {
    return window[i].role == Role::kUser && std::ranges::find(places, i) == places.end();
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

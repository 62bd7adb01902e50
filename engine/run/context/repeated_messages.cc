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
    if (!message.id.empty()) {
      place = FindById(window, message);
    } else if (results_by_call && HoldsResultsOnly(message)) {
      place = FindResult(window, message);
    }
    repetition.known.push_back(place.has_value());
    if (place) places.push_back(*place);
  }
  if (places.empty() || places.size() < request.size()) return repetition;
  const auto [first, last] = std::minmax_element(places.begin(), places.end());
  repetition.answer_begins = *last + 1;
  repetition.is_latest_turn = true;
  for (size_t i = *first; i < window.size(); ++i) {
    const bool is_own = std::find(places.begin(), places.end(), i) != places.end();
    if (window[i].role == Role::kUser && !is_own) repetition.is_latest_turn = false;
  }
  return repetition;
}

}  // namespace agent_graph::run

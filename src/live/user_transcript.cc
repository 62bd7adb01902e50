#include "live/user_transcript.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "live/history.h"

namespace agent_graph::live {
namespace {

constexpr size_t kHeldMax = 50;                    // lines
constexpr std::chrono::milliseconds kNoOffset{0};  // the user's words are not aligned with audio

bool IsPlaceholder(const Line& line) {
  return line.kind == Line::Kind::kPlaceholder;
}

}  // namespace

void UserTranscript::Enter(State next) {
  const bool begins = phase() == Phase::kNone;
  const bool ends = std::holds_alternative<None>(next);
  AG_CHECK(begins != ends, "a transcript begins, and it ends before the next one begins");
  state_ = std::move(next);
}

Utterance& UserTranscript::words() {
  if (!open()) Enter(Open{});
  if (auto* open = std::get_if<Open>(&state_)) return open->words;
  return expected_state().words;
}

UserTranscript::Expected& UserTranscript::expected_state() {
  auto* expected = std::get_if<Expected>(&state_);
  AG_CHECK(expected != nullptr, "the transcript is expected");
  return *expected;
}

size_t UserTranscript::announced() const {
  const auto* expected = std::get_if<Expected>(&state_);
  return expected != nullptr ? expected->announced : 0;
}

size_t UserTranscript::bytes() const {
  if (const auto* open = std::get_if<Open>(&state_)) return open->words.text().size();
  const auto* expected = std::get_if<Expected>(&state_);
  return expected != nullptr ? expected->words.text().size() + expected->held_bytes : 0;
}

Deadline UserTranscript::deadline() const {
  const auto* expected = std::get_if<Expected>(&state_);
  return expected != nullptr ? expected->until : kNoDeadline;
}

void UserTranscript::Expect(Deadline until, size_t announced) {
  Enter(Expected{until, announced});
}

bool UserTranscript::Hold(Line& line) {
  Expected& expected = expected_state();
  const size_t bytes = expected.held_bytes + BytesOf(line.message);
  if (expected.held.size() >= kHeldMax || bytes > History::kBytesMax) return false;
  expected.held_bytes = bytes;
  expected.held.push_back(std::move(line));
  return true;
}

void UserTranscript::AddAnnounced() {
  ++expected_state().announced;
}

void UserTranscript::FillPlaceholder(size_t place, const std::string& text) {
  Expected& expected = expected_state();
  AG_CHECK(expected.announced > 1, "a placeholder belongs to an announced utterance");
  --expected.announced;
  std::vector<Line>& held = expected.held;
  auto line = std::ranges::find_if(held, IsPlaceholder);
  while (line != held.end() && --place > 0) {
    line = std::find_if(line + 1, held.end(), IsPlaceholder);
  }
  if (line == held.end()) return;
  if (IsBlank(text)) {
    held.erase(line);
    return;
  }
  *line = {Line::Kind::kTranscript, SpokenByUser(text)};
  expected.held_bytes += BytesOf(line->message);
}

void UserTranscript::ExtendWait(Deadline until) {
  Expected& expected = expected_state();
  expected.until = std::max(expected.until, until);
}

void UserTranscript::SetWait(Deadline until) {
  expected_state().until = until;
}

std::string_view UserTranscript::Add(std::string_view piece) {
  return words().Add(piece, kNoOffset);
}

std::string UserTranscript::FinishPart(std::string_view whole) {
  return words().FinishPart(whole, kNoOffset);
}

UserTranscript::Finished UserTranscript::Finish() {
  Finished finished;
  if (auto* open = std::get_if<Open>(&state_)) finished.text = open->words.Take();
  if (auto* expected = std::get_if<Expected>(&state_)) {
    finished.expected = true;
    finished.text = expected->words.Take();
    finished.held = std::move(expected->held);
    finished.announced = expected->announced;
  }
  if (open()) Enter(None{});
  return finished;
}

}  // namespace agent_graph::live

#include "api/stream/delta_lines.h"

#include <utility>

#include "base/free_memory.h"
#include "base/json.h"
#include "base/seconds.h"

namespace agent_graph::api {
namespace {

// Pieces that come as slowly as models write are cheap anyway, and many streams wait for them.
constexpr int64_t kSoonMicros = 5'000;
// A waiting stream should not hold a large piece.
constexpr size_t kRepeatedLineBytesMax = 1024;

bool HasOnePart(const run::RunDelta& delta) {
  return delta.text.empty() != delta.reasoning.empty();
}

}  // namespace

void DeltaLines::Append(std::string& out, const StreamChunkWriter& writer,
                        const run::RunDelta& delta, int64_t unix_micros) {
  const bool follows_soon = unix_micros - std::exchange(last_micros_, unix_micros) < kSoonMicros;
  if (!follows_soon) {
    Forget();
    writer.AppendLine(out, delta, unix_micros);
    return;
  }
  if (!Repeats(delta)) {
    std::string line;
    places_ = writer.AppendLine(line, delta, unix_micros);
    out += line;
    return Remember(line, delta);
  }
  SetTimes(unix_micros);
  const std::string_view line = line_;
  out += line.substr(0, places_.message.piece);
  AppendJsonString(out, is_reasoning_ ? delta.reasoning : delta.text);
  out += line.substr(places_.message.after_piece);
}

void DeltaLines::SetTimes(int64_t unix_micros) {
  const SecondsText seconds(unix_micros);
  auto& [message, time, after_time] = places_;
  line_.replace(time, after_time - time, seconds.full());
  line_.replace(message.time, message.after_time - message.time, seconds.shortest());
  // The texts of the first time differ in size.
  const size_t end = message.time + seconds.shortest().size();
  time += end - std::exchange(message.after_time, end);
  after_time = time + seconds.full().size();
}

bool DeltaLines::Repeats(const run::RunDelta& delta) const {
  return !line_.empty() && HasOnePart(delta) && is_reasoning_ == delta.text.empty() &&
         step_ == delta.step && message_id_ == delta.message_id && node_ == delta.node;
}

void DeltaLines::Forget() {
  FreeMemory(line_);
  FreeMemory(message_id_);
}

void DeltaLines::Remember(std::string_view line, const run::RunDelta& delta) {
  const bool may_repeat = HasOnePart(delta) && line.size() <= kRepeatedLineBytesMax;
  line_ = may_repeat ? line : std::string_view();
  message_id_ = delta.message_id;
  node_ = delta.node;
  step_ = delta.step;
  is_reasoning_ = delta.text.empty();
}

}  // namespace agent_graph::api

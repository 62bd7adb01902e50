#include "api/stream/delta_lines.h"

#include <gtest/gtest.h>

#include <vector>

namespace agent_graph::api {
namespace {

using run::RunDelta;

constexpr int64_t kMicros = 1'781'611'200'250'000;

run::RunStart Start() {
  run::RunStart start;
  start.thread_id = "t \"1\"";
  start.run_id = "r1";
  return start;
}

// Writes the lines of `deltas` after each other, the first one at `micros`.
std::string Written(const std::vector<RunDelta>& deltas, int64_t micros = kMicros,
                    int64_t between = 1) {
  const StreamChunkWriter writer(Start());
  DeltaLines lines;
  std::string out;
  for (const RunDelta& delta : deltas) {
    lines.Append(out, writer, delta, micros);
    micros += between;
  }
  return out;
}

std::string Expected(const std::vector<RunDelta>& deltas, int64_t micros = kMicros,
                     int64_t between = 1) {
  const StreamChunkWriter writer(Start());
  std::string out;
  for (const RunDelta& delta : deltas) {
    writer.AppendLine(out, delta, micros);
    micros += between;
  }
  return out;
}

RunDelta Text(std::string_view text) {
  return {"m1", text, "", "MAIN", 1};
}

TEST(DeltaLines, AreThoseOfTheWriter) {
  const std::vector<RunDelta> deltas = {Text("Hello"), Text(" \"wor\nld\" \xc3\xa9"), Text("!")};
  EXPECT_EQ(Written(deltas), Expected(deltas));
}

TEST(DeltaLines, TellReasoningFromText) {
  const std::vector<RunDelta> deltas = {
      {"m1", "", "think", "MAIN", 1},     {"m1", "", " more", "MAIN", 1},     Text("so"),
      {"m1", "both", "parts", "MAIN", 1}, {"m1", "again", "both", "MAIN", 1}, Text("end")};
  EXPECT_EQ(Written(deltas), Expected(deltas));
}

TEST(DeltaLines, ChangeWithTheMessageTheNodeAndTheStep) {
  const std::vector<RunDelta> deltas = {{"m1", "a", "", "MAIN", 1},  {"m2", "b", "", "MAIN", 1},
                                        {"m2", "c", "", "OTHER", 1}, {"m2", "d", "", "OTHER", 2},
                                        {"m2", "e", "", "", -1},     {"m2", "f", "", "", -1}};
  EXPECT_EQ(Written(deltas), Expected(deltas));
}

// The short form of a time has fewer digits if it ends with zeros.
TEST(DeltaLines, HaveTimesOfAnyLength) {
  const std::vector<RunDelta> deltas(12, Text("x"));
  EXPECT_EQ(Written(deltas, 999'995), Expected(deltas, 999'995));
}

TEST(DeltaLines, MayFollowEachOtherSlowly) {
  const std::vector<RunDelta> deltas(4, Text("x"));
  EXPECT_EQ(Written(deltas, kMicros, 30'000), Expected(deltas, kMicros, 30'000));
}

TEST(DeltaLines, MayFollowALargePiece) {
  const std::string large(100'000, 'x');
  const std::vector<RunDelta> deltas = {Text(large), Text("small"), Text(large), Text("small")};
  EXPECT_EQ(Written(deltas), Expected(deltas));
}

}  // namespace
}  // namespace agent_graph::api

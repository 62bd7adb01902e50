// The entries of a run are enough to rebuild the state without its end, and they are not larger
// than what the nodes have produced.
#include "../run_fixture.h"
#include "run/log/run_log.h"
#include "state/pack/fields.h"
#include "state/requests.h"
#include "state/rules/fold.h"

namespace agent_graph::run {
namespace {

class LostStateTest : public RunTest {
 protected:
  // Runs the request and returns the run's entries.
  std::vector<state::LogEntry> EntriesOf(RunRequest request) {
    std::vector<state::LogEntry>& log = state_.At("t1").log;
    const size_t before = log.size();
    const RunOutcome outcome = RunOk(std::move(request));
    EXPECT_EQ(outcome.status, RunStatus::kDone) << outcome.error.ToString();
    return {log.begin() + static_cast<ptrdiff_t>(before), log.end()};
  }
  static state::Snapshot Fold(const state::Snapshot& loaded,
                              const std::vector<state::LogEntry>& entries) {
    constexpr uint64_t kEpoch = 1;
    state::RunEffects effects(kEpoch);
    // One append per entry.
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (!effects.TakeEarlier({*entry}, kEpoch)) break;
    }
    Result<state::Snapshot> folded = effects.FoldInto(loaded, loaded.fields_json, {});
    EXPECT_TRUE(folded.ok()) << folded.status().ToString();
    return folded.ok() ? *folded : state::Snapshot();
  }
  const state::Snapshot& stored() { return state_.At("t1").state.snapshot; }

  static RunRequest With(RunRequest request, const char* initial_state) {
    request.initial_state = std::make_shared<const json>(json::parse(initial_state));
    return request;
  }
};

json Count(const json& current, const json& update) {
  json counts = current.is_object() ? current : json::object();
  counts[update.get<std::string>()] = counts.value(update.get<std::string>(), 0) + 1;
  return counts;
}

json Push(const json& current, const json& update) {
  json list = current.is_array() ? current : json::array();
  list.push_back({{"pushed", update}});
  return list;
}

TEST_F(LostStateTest, TheEntriesGiveTheStateOfTheRun) {
  builder_.AddField({.name = "appended", .reducer = Reducer::kAppend});
  builder_.AddField({.name = "preset", .reducer = Reducer::kAppend, .default_json = R"(["p"])"});
  builder_.AddField({.name = "united", .reducer = Reducer::kUnion});
  builder_.AddField({.name = "sum", .reducer = Reducer::kSum});
  builder_.AddField({.name = "least", .reducer = Reducer::kMin});
  builder_.AddField({.name = "most", .reducer = Reducer::kMax});
  builder_.AddField({.name = "merged", .reducer = Reducer::kMerge});
  builder_.AddField({.name = "counted", .reducer = Reducer::kCustom, .custom = Count});
  builder_.AddField({.name = "pushed", .reducer = Reducer::kCustom, .custom = Push});
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    const auto step = static_cast<int>(state.Field("appended").size());
    NodeResult result(Message::Assistant("step " + std::to_string(step)));
    result.Set("appended", json(step)).Set("appended", json::array({step, "x"}));
    result.Set("preset", "more").Set("preset", "again");
    result.Set("united", json::array({1, 2, step, step})).Set("united", 7);
    result.Set("sum", step).Set("sum", 0.5).Set("sum", nullptr);
    result.Set("least", -step).Set("most", step);
    result.Set("merged",
               {{"last", step}, {"deep", {{std::to_string(step), true}, {"last", nullptr}}}});
    result.Set("merged", nullptr);
    result.Set("counted", "visits").Set("pushed", step);
    result.Set("free", {{"step", step}}).Set("null", nullptr);
    if (step == 3) result.summary = "three";
    return result;
  });
  builder_.AddEdge(START, "A");
  builder_.AddConditionalEdge("A",
                              [](const State& state) -> std::string {
                                return state.Field("appended").size() % 12 < 3 ? END : "A";
                              },
                              {"A", END});
  const char* const initial_states[] = {
      "{}", R"({"free":"set","merged":"no object","context_summary":"set"})",
      R"({"appended":"no list","united":null,"sum":"x","least":null,"context_summary":null})"};
  for (const char* initial_state : initial_states) {
    const state::Snapshot loaded = stored();
    const auto entries = EntriesOf(With(Ask("go"), initial_state));
    const state::Snapshot folded = Fold(loaded, entries);
    EXPECT_EQ(json::parse(folded.fields_json), json::parse(stored().fields_json)) << initial_state;
    EXPECT_EQ(folded.summary, stored().summary);
  }
}

class LongListTest : public LostStateTest {
 protected:
  // Appends elements of `bytes` bytes until the list has `steps` of them.
  void Build(size_t steps, size_t bytes) {
    builder_.AddField({.name = "list", .reducer = Reducer::kAppend});
    builder_.AddFunction(
        "A",
        [bytes](const State&, RunContext&) -> NodeResult {
          return NodeResult().Set("list", std::string(bytes, 'x'));
        },
        Execution::kNonBlocking);
    builder_.AddEdge(START, "A");
    builder_.AddConditionalEdge("A",
                                [steps](const State& state) -> std::string {
                                  return state.Field("list").size() >= steps ? END : "A";
                                },
                                {"A", END});
  }
  RunRequest Long() {
    RunRequest request = Ask("go");
    request.recursion_limit = 100'000;
    return request;
  }
};

TEST_F(LongListTest, EntriesAreNoLargerThanTwiceWhatNodesProduce) {
  constexpr size_t kSteps = 1000;
  constexpr size_t kBytes = 500;
  Build(kSteps, kBytes);
  size_t written = 0;
  for (const state::LogEntry& entry : EntriesOf(Long())) {
    if (entry.effect) written += state::pack::ToBytes(entry).size();
  }
  EXPECT_GE(written, kSteps * kBytes);
  EXPECT_LE(written, 2 * kSteps * kBytes);
}

TEST_F(LongListTest, AFoldReadsNoMoreThanTheLatestCompleteEffectAndItsSuccessors) {
  Build(600, 10'000);
  const state::Snapshot loaded = stored();
  const auto entries = EntriesOf(Long());
  // The log counts entries without their kinds and times.
  const auto with_overhead = [](size_t counted) { return counted * 11 / 10 + 11'000; };
  size_t complete = 0;
  size_t largest = kCompleteEffectAfter;
  size_t tail = 0;
  size_t written = 0;
  for (const state::LogEntry& entry : entries) {
    const size_t bytes = state::pack::ToBytes(entry).size();
    written += bytes;
    tail += bytes;
    if (!entry.effect || !entry.effect->complete) continue;
    EXPECT_LE(tail - bytes, with_overhead(largest));
    ++complete;
    largest = std::max(largest, kCompleteEffectFactor * bytes);
    tail = 0;
  }
  EXPECT_GE(complete, 2u);
  EXPECT_LE(tail, with_overhead(largest));
  // The last one may have everything that the nodes have produced, the one before a fifth of that,
  // and so on.
  EXPECT_LE(written, size_t{600} * 10'100 * 225 / 100);
  EXPECT_EQ(Fold(loaded, entries).fields_json, stored().fields_json);
}

}  // namespace
}  // namespace agent_graph::run

// Tool calls that wait for answers or decisions of the user, as stored with a paused thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "base/status.h"
#include "run/run_request.h"
#include "tools/call/call_input.h"

namespace agent_graph::run {

inline constexpr size_t kOpenInputBytesMax = 512 * 1024;  // all calls of a thread together, as JSON

// A call that waits for answers, or for a decision.
struct OpenInput {
  std::string call_id;
  std::string tool;
  int rounds = 0;  // number of pauses so far
  tools::CallPause pause = {};
  std::vector<json> answers = {};  // one per question, in order; null: not answered yet
  // The worker died during the call, which may have taken effect: the client decides. It has no
  // questions.
  bool undecided = false;
  std::string arguments_json = "{}";          // arguments of an undecided call
  std::optional<ToolDecision> decision = {};  // about an undecided call

  // True if every question is answered, or the decision made.
  bool answered() const;
  size_t bytes() const;
  // Returns the id with which the client answers a question. It has the number of the pause: an
  // answer that is sent again must not answer a later question of the same call.
  std::string IdOf(size_t question) const;
};

// The waiting calls of one thread. Not thread-safe.
class OpenInputs {
 public:
  // Parses ExecutionMeta::inputs_json; skips entries that cannot be read.
  static OpenInputs FromJson(std::string_view text);
  std::string ToJson() const;  // empty if there are no calls

  const std::vector<OpenInput>& calls() const { return calls_; }
  bool empty() const { return calls_.empty(); }
  bool has_questions() const;  // questions that tools ask
  const OpenInput* Find(std::string_view call_id) const;
  // Adds the entry of a call or replaces it. Returns kResourceExhausted if all entries together
  // would be too large.
  Status Keep(OpenInput input);
  void Forget(std::string_view call_id);
  // Removes all calls but these: others may have been removed from the thread.
  void KeepOnly(const std::vector<std::string>& call_ids);

  // Moves answers out of `messages` and removes the messages that are then empty. Returns
  // kInvalidArgument, with the message's index, if an answer does not fit its question, or is a
  // second one.
  Status TakeAnswers(std::vector<Message>& messages);
  // Takes decisions over. kInvalidArgument, with the path of the decision, if no call waits for it.
  Status TakeDecisions(const std::vector<ToolDecision>& decisions);
  // Answers or decisions were taken over.
  bool has_new_answers() const { return has_new_answers_; }

  // The open questions as clients receive them: a list in the interrupt's data.
  std::string ElicitationsJson() const;
  // The calls that wait for a decision, likewise; empty if there are none.
  std::string UndecidedJson() const;

 private:
  struct Place {
    OpenInput* call = nullptr;
    size_t question = 0;
    bool answered = false;  // by these messages
  };
  using Places = std::unordered_map<std::string, Place>;
  Places FindQuestions();  // by their ids
  Status TakeAnswer(const ToolResultBlock& result, Place& place);

  std::vector<OpenInput> calls_;
  bool has_new_answers_ = false;
};

}  // namespace agent_graph::run

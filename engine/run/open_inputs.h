// Tool calls that wait for answers of the user, as a paused thread stores them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "base/status.h"
#include "tools/call_input.h"

namespace agent_graph::run {

inline constexpr size_t kOpenInputBytesMax = 512 * 1024;  // all calls of a thread, as JSON

// A call that waits for answers.
struct OpenInput {
  std::string call_id;
  std::string tool;
  int rounds = 0;  // how often it has paused
  tools::CallPause pause;
  std::vector<json> answers;  // one for each question, in order; null: not yet

  bool answered() const;  // every question
  size_t bytes() const;
  // The id by which the client answers a question.
  std::string IdOf(size_t question) const;
};

class OpenInputs {
 public:
  // Reads ExecutionMeta::inputs_json; entries that cannot be read are left out.
  static OpenInputs FromJson(std::string_view text);
  std::string ToJson() const;  // empty: there are none

  const std::vector<OpenInput>& calls() const { return calls_; }
  bool empty() const { return calls_.empty(); }
  const OpenInput* Find(std::string_view call_id) const;
  // Replaces the entry of its call. kResourceExhausted: all entries together would be too large.
  Status Keep(OpenInput input);
  void Forget(std::string_view call_id);
  // Forgets all calls but these: somebody may have removed one from the thread.
  void KeepOnly(const std::vector<std::string>& call_ids);

  // Takes results that are answers out of `messages`, and the messages that are empty then.
  // kInvalidArgument, with the number of the message, when one does not fit its question.
  Status TakeAnswers(std::vector<Message>& messages);
  bool has_new_answers() const { return has_new_answers_; }

  // The open questions as the client sees them: a list in the interrupt's data.
  std::string ElicitationsJson() const;

 private:
  struct Place {
    OpenInput* call = nullptr;
    size_t question = 0;
  };
  Place FindQuestion(std::string_view id);
  Status TakeAnswer(const ToolResultBlock& result, const Place& place);

  std::vector<OpenInput> calls_;
  bool has_new_answers_ = false;
};

}  // namespace agent_graph::run

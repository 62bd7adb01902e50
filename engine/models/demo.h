// The demo model: runs in process, deterministic, needs no key. For first steps and for tests.
//
// It looks only at the last message:
//   - tool results (all at the end of the conversation): it replies with their texts, one per
//     line. The text of a result is the string itself if it is a JSON string, otherwise its JSON,
//     after "Error: " if the tool failed.
//   - a user text whose first lines are `call NAME` or `call NAME {json object}`, NAME being a
//     tool in the request: it calls those tools, one call per line, up to the first other line.
//     Ids are call_D_1, call_D_2, …, counted over the conversation; D is a digest of the message's
//     id.
//   - any other user text T: it replies "You said: T".
//
// The text is streamed word by word, each word with the white space before it. Usage counts words:
// prompt_tokens those of the system prompt and of all texts of the conversation, completion_tokens
// those of the reply. The parameter `delay_ms` (0 to 60,000) is a delay before each word.
//
// It honours these options of a request: `max_tokens` (words), `stop`, and a demanded tool call,
// which it makes without arguments. Instructions only count as words of the prompt.
//
// With the parameter `dialog` it also understands some ordinary sentences and reports results in
// sentences; see demo_dialog.h.
#pragma once

#include <string>

#include "models/model.h"
#include "models/provider_kind.h"

namespace agent_graph::models {

extern const ProviderKind kDemoProvider;

class DemoModel : public ModelProvider {
 public:
  // `parameters_json` has the defaults for parameters that a request does not set.
  explicit DemoModel(std::string parameters_json = "{}");

  Result<ModelReply> Generate(const ModelRequest& request,
                              const runtime::Cancellation& cancellation,
                              const std::function<Status(const ModelDelta&)>& on_delta) override;

 private:
  const std::string parameters_json_;
};

}  // namespace agent_graph::models

// The demo model: in process, deterministic, no key. For a first try and for tests.
//
// It looks at the last message only:
//   - tool results (all that end the conversation): it answers with their texts, one a line; a text
//     is the result itself if it is a JSON string, else its JSON, after "Error: " if it failed.
//   - a user text whose lines begin with `call NAME` or `call NAME {json object}`, NAME being a
//   tool
//     it was told about: it calls those tools, one call a line up to the first line of another
//     kind. Ids are call_1, call_2, …, counted over the conversation.
//   - any other user text T: it answers "You said: T".
//
// The text arrives word by word, each piece a word with the white space before it. Usage counts
// words: prompt_tokens those of the system prompt and of all texts of the conversation,
// completion_tokens those of the answer. The parameter `delay_ms` (0 to 60,000) waits that long
// before each word.
#pragma once

#include <string>

#include "models/model.h"

namespace agent_graph::models {

class DemoModel : public ModelProvider {
 public:
  // `parameters_json` applies where a request has no parameter of that name.
  explicit DemoModel(std::string parameters_json = "{}");

  Result<ModelReply> Generate(const ModelRequest& request,
                              const runtime::Cancellation& cancellation,
                              const std::function<Status(const ModelDelta&)>& on_delta) override;

 private:
  const std::string parameters_json_;
};

}  // namespace agent_graph::models

// POST /chat/completions: runs the agent and answers in the form of OpenAI's API.
#include <memory>
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "facades/openai/chat_reader.h"
#include "facades/openai/chat_request.h"
#include "facades/openai/chat_view.h"
#include "facades/openai/chat_writer.h"
#include "facades/openai/handlers.h"
#include "facades/openai/model_options.h"
#include "facades/openai/reply.h"
#include "facades/run/facade_run.h"
#include "graph/compiled_graph.h"

namespace agent_graph::openai {

namespace {

// A request that may be answered.
struct ReadyChat {
  facades::FacadeRun run;
  bool stream = false;
  bool include_usage = false;
};

// Reads and checks the request. Returns the error to answer with.
std::optional<api::ErrorInfo> Read(api::HandlerContext& context, ReadyChat& ready) {
  if (auto error = FindUnsupported(context.body())) return error;
  const std::string& name = context.api().graph->name();
  const std::string& model = context.body().at("model").get_ref<const std::string&>();
  if (model != name) return UnknownModel(model, name);
  api::Problems problems;
  ChatRequest request = ReadChatRequest(context, problems);
  ready.stream = request.stream;
  ready.include_usage = request.include_usage;
  facades::FacadeRun& run = ready.run;
  run.terms = facades::ReadTerms(context, request.run.thread_id, problems);
  if (!problems.empty()) return std::move(problems).Error();
  const models::CallOptions* options = request.run.call_options.get();
  if (auto error = FindFormatProblem(context.api(), options, "response_format")) return error;
  if (auto error = facades::CheckThread(context, request.run.thread_id)) return error;
  if (auto error = facades::CheckResults(request.run, "messages")) return error;
  run.request.run = std::move(request.run);
  if (auto error = facades::FindKeyOrFiles(context, run)) return error;
  run.request.run.transient = run.request.run.thread_id.empty() && !run.terms.accepted;
  run.wants_deltas = request.stream;
  return std::nullopt;
}

// Returns nullptr if the request was refused. Not inlined: a run that waits for its model needs
// none of this on its stack.
[[gnu::noinline]] std::unique_ptr<ReadyChat> PrepareChat(api::HandlerContext& context) {
  auto ready = std::make_unique<ReadyChat>();
  const std::optional<api::ErrorInfo> error = Read(context, *ready);
  if (!error) return ready;
  context.Fail(*error);
  return nullptr;
}

// The objects of an answer, which are not on the stack either.
struct ChatAnswer {
  ChatAnswer(api::HandlerContext& context, const ReadyChat& ready)
      : view(context.api().settings->facades.openai.show_tools,
             *ready.run.request.run.client_tools),
        writer(context, ready.stream, ready.include_usage, ready.run.terms.accepted),
        reader(view, writer, ready.run.terms.accepted) {}

  ChatView view;
  ChatWriter writer;
  ChatReader reader;
};

}  // namespace

void CompleteChat(api::HandlerContext& context) {
  const std::unique_ptr<ReadyChat> ready = PrepareChat(context);
  if (ready == nullptr) return;
  const auto answer = std::make_unique<ChatAnswer>(context, *ready);
  answer->reader.Finish(facades::PerformRun(context, std::move(ready->run), answer->reader));
}

}  // namespace agent_graph::openai

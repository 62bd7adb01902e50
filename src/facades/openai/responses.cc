// POST /responses: runs the agent and answers in the form of OpenAI's Responses API.
#include <memory>
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "facades/openai/errors.h"
#include "facades/openai/handlers.h"
#include "facades/openai/model_options.h"
#include "facades/openai/reply.h"
#include "facades/openai/request_note.h"
#include "facades/openai/response_reader.h"
#include "facades/openai/response_request.h"
#include "facades/openai/response_stream.h"
#include "facades/openai/stored_responses.h"
#include "facades/run/facade_run.h"
#include "graph/compiled_graph.h"

namespace agent_graph::openai {
namespace {

using api::HandlerContext;

void SendResponse(HandlerContext& context, const ResponseObject& response) {
  SendJson(context, ToJson(response), ResponseHeaders(response));
}

ResponseReaderOptions OptionsFor(HandlerContext& context, const facades::FacadeRun& run) {
  ResponseReaderOptions options =
      run.terms.accepted ? FollowingReaderOptions(context) : ReaderOptions(context);
  options.note_json = run.request.run.note_json;
  return options;
}

// Answers as soon as the run is stored.
[[gnu::noinline]] void AcceptInBackground(HandlerContext& context, facades::FacadeRun& run) {
  ResponseReader reader(OptionsFor(context, run));
  api::AcceptedRun accepted;
  if (auto error = api::AcceptGraphRun(context, std::move(run.request), run.terms, accepted)) {
    return context.Fail(*error);
  }
  if (accepted.repeated) {
    const ResponseName name{accepted.run.thread_id, accepted.run.run_id};
    if (auto error = ReadResponse(context, name, reader)) return context.Fail(*error);
  } else {
    run::RunStart start;
    start.thread_id = accepted.run.thread_id;
    start.run_id = accepted.run.run_id;
    (void)reader.OnStart(start, &accepted.run);  // sends nothing
  }
  SendResponse(context, reader.response());
}

// The objects of a streamed response. They are allocated on the heap, so that the fiber's stack
// stays small while the model answers.
struct StreamedResponse {
  StreamedResponse(HandlerContext& context, ResponseReaderOptions options)
      : stream(context), reader(stream.Attached(std::move(options))) {}

  ResponseStream stream;
  ResponseReader reader;
};

void AnswerWithEvents(HandlerContext& context, facades::FacadeRun& run, bool is_background) {
  const auto response = std::make_unique<StreamedResponse>(context, OptionsFor(context, run));
  const auto error = facades::PerformRun(context, std::move(run), response->reader);
  const bool is_resumable = is_background;
  response->stream.Finish(
      error, error && !is_resumable ? response->reader.ErrorEvent(*error) : std::string());
}

// Sends the response of a run that was read to its end.
[[gnu::noinline]] void SendEnd(HandlerContext& context, const ResponseReader& reader,
                               std::optional<api::ErrorInfo> error, bool is_repeatable) {
  if (reader.error()) error = reader.error();
  if (!error) return SendResponse(context, reader.response());
  // Client libraries repeat failed requests by themselves. The header stops them, because the
  // effects of a run would happen twice.
  bridge::HeaderList headers;
  const bool has_begun = !reader.response().id.empty();
  if (has_begun && !is_repeatable && !IsPermanent(*error)) {
    headers.emplace_back("x-should-retry", "false");
  }
  context.Fail(*error, headers);
}

void AnswerAtTheEnd(HandlerContext& context, facades::FacadeRun& run) {
  run.wants_deltas = false;
  const bool is_repeatable = run.terms.key.has_value();
  const auto reader = std::make_unique<ResponseReader>(OptionsFor(context, run));
  SendEnd(context, *reader, facades::PerformRun(context, std::move(run), *reader), is_repeatable);
}

// Reads the input, unless the request repeats one: the items that it refers to may be gone.
std::optional<api::ErrorInfo> ReadNewInput(HandlerContext& context, run::RunRequest& run,
                                           api::RunTerms& terms, api::Problems& problems) {
  if (problems.empty()) {
    if (auto error = api::FindRunOfKey(context, terms)) return error;
    if (terms.known) return std::nullopt;
  }
  ReferencedMessages referenced(context);
  const auto find_message = [&](const ItemName& item) { return referenced.Find(item); };
  ReadResponseInput(context, find_message, run, problems);
  if (referenced.failure()) return referenced.failure();
  if (!problems.empty()) return std::move(problems).Error();
  return std::nullopt;
}

// Reads and checks the request. Returns the error to answer with.
std::optional<api::ErrorInfo> ReadRequest(HandlerContext& context, ResponseRequest& request,
                                          api::RunTerms& terms) {
  if (auto error = FindUnsupportedInResponse(context.body())) return error;
  const std::string& name = context.api().graph->name();
  const std::string& model = context.body().at("model").get_ref<const std::string&>();
  if (model != name) return UnknownModel(model, name);
  api::Problems problems;
  request = ReadResponseRequest(context, problems);
  terms = facades::ReadTerms(context, request.run.thread_id, problems);
  if (auto error = ReadNewInput(context, request.run, terms, problems)) return error;
  if (auto error =
          FindFormatProblem(context.api(), request.run.call_options.get(), "text.format")) {
    return error;
  }
  if (request.previous && terms.known) {
    // Its run has followed the previous response, which may be deleted or followed by others now.
    return facades::CheckThread(context, terms.known->thread_id);
  }
  if (request.previous) {
    if (auto error = FollowResponse(context, *request.previous, request.store, request.run)) {
      return error;
    }
  }
  if (auto error = facades::CheckThread(context, request.run.thread_id)) return error;
  return terms.known ? std::nullopt : facades::CheckResults(request.run, "input");
}

// A request that may be answered.
struct ReadyResponse {
  facades::FacadeRun run;
  bool stream = false;
  bool background = false;
};

// Returns nullptr if the request was refused. Not inlined: a run that waits for its model needs
// none of this on its stack.
[[gnu::noinline]] std::unique_ptr<ReadyResponse> PrepareResponse(HandlerContext& context) {
  auto ready = std::make_unique<ReadyResponse>();
  facades::FacadeRun& run = ready->run;
  ResponseRequest request;
  const auto refuse = [&](const api::ErrorInfo& error) {
    context.Fail(error);
    return nullptr;
  };
  if (auto error = ReadRequest(context, request, run.terms)) return refuse(*error);
  const bool can_store = context.api().state != nullptr;
  if (request.background && !can_store) {
    return refuse({api::ApiError::kNotConfigured, "checkpointer not configured", {}});
  }
  ready->stream = request.stream;
  ready->background = request.background;
  run.terms.accepted |= request.background;
  run.request.run = std::move(request.run);
  run::RunRequest& graph_run = run.request.run;
  if (!run.terms.known) {
    if (auto error = api::ResolveFiles(context, run.request)) return refuse(*error);
  }
  const bool is_stored = (request.store && can_store) || run.terms.accepted;
  graph_run.transient = !is_stored && graph_run.thread_id.empty();
  graph_run.log_pieces = run.terms.accepted;
  const std::string conversation = request.previous ? std::string() : graph_run.thread_id;
  graph_run.note_json = RequestNote(context.body(), is_stored, conversation);
  return ready;
}

}  // namespace

void CreateResponse(HandlerContext& context) {
  const std::unique_ptr<ReadyResponse> ready = PrepareResponse(context);
  if (ready == nullptr) return;
  if (ready->stream) return AnswerWithEvents(context, ready->run, ready->background);
  if (ready->background) return AcceptInBackground(context, ready->run);
  AnswerAtTheEnd(context, ready->run);
}

}  // namespace agent_graph::openai

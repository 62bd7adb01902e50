#include "facades/openai/response_stream.h"

#include <utility>

#include "api/resources/run_streaming.h"
#include "bridge/exchange.h"
#include "facades/openai/errors.h"
#include "facades/openai/object_ids.h"

namespace agent_graph::openai {
namespace {

constexpr std::string_view kResponseEvents = "text/event-stream";
constexpr std::string_view kKeepAlive = ": keep-alive\n\n";

}  // namespace

bridge::HeaderList ResponseHeaders(const ResponseObject& response) {
  bridge::HeaderList headers;
  const std::optional<ResponseName> name = ParseResponseId(response.id);
  if (name) headers.emplace_back("X-Thread-Id", name->thread_id);
  return headers;
}

ResponseReaderOptions ResponseStream::Attached(ResponseReaderOptions options) {
  options.on_start = [this](const ResponseObject& response) { SendHead(response); };
  options.send = [this](std::string_view events) {
    return context_.exchange().Send(events, bridge::kSendWaitMax);
  };
  options.send_comment = [this] {
    return context_.exchange().Send(kKeepAlive, bridge::kSendWaitMax);
  };
  return options;
}

void ResponseStream::SendHead(const ResponseObject& response) {
  head_sent_ = true;
  bridge::HeaderList headers = api::StreamHeaders(kResponseEvents);
  for (auto& header : ResponseHeaders(response)) headers.push_back(std::move(header));
  context_.exchange().SendHead(context_.MakeHead(200, std::move(headers)));
}

void ResponseStream::Finish(const std::optional<api::ErrorInfo>& error,
                            std::string_view error_event) {
  if (!error) return context_.exchange().End("ok");
  if (!head_sent_) return context_.Fail(*error);
  if (!error_event.empty()) context_.exchange().SendLast(error_event);
  context_.exchange().End(api::OutcomeOf(*error, context_.exchange().cancellation().reason()));
}

}  // namespace agent_graph::openai

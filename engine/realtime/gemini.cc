#include "realtime/gemini.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "message/texts.h"
#include "models/json_fields.h"
#include "models/media.h"
#include "models/parameters.h"
#include "realtime/resampler.h"

namespace agent_graph::realtime {
namespace {

using models::ArrayAt;
using models::IsTrueAt;
using models::JsonItems;
using models::JsonNode;
using models::ObjectAt;
using models::StringAt;
using std::chrono::milliseconds;
using Kind = Event::Kind;

constexpr char kService[] =
    "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";

// The parameters that belong to the session itself; all others go into generationConfig.
constexpr std::string_view kSetupKeys[] = {
    "tools",          "realtimeInputConfig",      "sessionResumption",
    "proactivity",    "contextWindowCompression", "inputAudioTranscription",
    "safetySettings", "outputAudioTranscription", "historyConfig"};

json Parts(const std::string& text) {
  json part = {{"text", text}};
  return json::array({std::move(part)});
}

json Content(const Message& message) {
  json parts = json::array();
  for (const std::string_view text : message::Texts(message)) parts.push_back({{"text", text}});
  return {{"role", message.role == Role::kUser ? "user" : "model"}, {"parts", std::move(parts)}};
}

std::string Sensitivity(const char* prefix, std::string_view level) {
  return prefix + std::string(level == "high" ? "HIGH" : "LOW");
}

json ActivityDetection(const VoiceActivity& vad) {
  json detection = json::object();
  if (vad.enabled) detection["disabled"] = !*vad.enabled;
  if (vad.silence_duration_ms) detection["silenceDurationMs"] = *vad.silence_duration_ms;
  if (vad.prefix_padding_ms) detection["prefixPaddingMs"] = *vad.prefix_padding_ms;
  if (!vad.start_sensitivity.empty()) {
    detection["startOfSpeechSensitivity"] =
        Sensitivity("START_SENSITIVITY_", vad.start_sensitivity);
  }
  if (!vad.end_sensitivity.empty()) {
    detection["endOfSpeechSensitivity"] = Sensitivity("END_SENSITIVITY_", vad.end_sensitivity);
  }
  return detection;
}

void AddTools(json& setup, const std::vector<models::ToolDeclaration>& declarations) {
  if (declarations.empty()) return;
  json functions = json::array();
  for (const models::ToolDeclaration& tool : declarations) {
    Result<json> schema = ParseJson(tool.parameters_json);
    functions.push_back({{"name", tool.name},
                         {"description", tool.description},
                         {"parametersJsonSchema", schema.ok() ? *schema : json::object()}});
  }
  setup["tools"].push_back({{"functionDeclarations", std::move(functions)}});
}

json Setup(const models::ProviderOptions& options, const LinkConfig& config) {
  json setup = {{"contextWindowCompression", {{"slidingWindow", json::object()}}},
                {"inputAudioTranscription", json::object()}};
  const std::string& model = config.model.empty() ? options.model : config.model;
  setup["model"] = model.starts_with("models/") ? model : "models/" + model;
  json& generation = setup["generationConfig"];
  if (config.modality == Modality::kText) {
    generation["responseModalities"] = json::array({"TEXT"});
  } else {
    generation["responseModalities"] = json::array({"AUDIO"});
    setup["outputAudioTranscription"] = json::object();
  }
  if (!config.voice.empty()) {
    generation["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"] = config.voice;
  }
  if (!config.system_prompt.empty()) {
    setup["systemInstruction"] = {{"parts", Parts(config.system_prompt)}};
  }
  if (json detection = ActivityDetection(config.vad); !detection.empty()) {
    setup["realtimeInputConfig"]["automaticActivityDetection"] = std::move(detection);
  }
  AddTools(setup, config.tools);
  setup["sessionResumption"] = json::object();
  if (!config.resumption_handle.empty()) {
    setup["sessionResumption"]["handle"] = config.resumption_handle;
  }
  Result<json> parameters =
      models::MergeParameters(options.parameters_json, config.parameters_json);
  if (!parameters.ok()) return setup;
  for (auto& [name, value] : parameters->items()) {
    const bool own = std::ranges::find(kSetupKeys, name) != std::end(kSetupKeys);
    json& target = own || name == "generationConfig" ? setup[name] : generation[name];
    if (target.is_object() && value.is_object()) {
      target.merge_patch(value);
    } else if (target.is_array() && value.is_array()) {
      target.insert(target.end(), value.begin(), value.end());  // e.g. tools of the provider
    } else {
      target = value;
    }
  }
  return setup;
}

// How many messages with pieces of a cut-off answer are skipped; they may be in flight for some
// seconds. Later pieces belong to a new answer, even if the end of the old one was not reported.
constexpr int kPassedOverMax = 100;

// "9.5s"
milliseconds Seconds(std::string_view text) {
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (std::isnan(seconds)) seconds = 0;
  return milliseconds(static_cast<int64_t>(std::clamp(seconds, 0.0, 3600.0) * 1000));
}

// The rate in "audio/pcm;rate=24000".
int RateOf(std::string_view mime_type) {
  const size_t at = mime_type.find("rate=");
  int rate = kOutputRate;
  if (at != std::string_view::npos) {
    std::from_chars(mime_type.data() + at + 5, mime_type.data() + mime_type.size(), rate);
  }
  return rate >= 8'000 && rate <= 48'000 ? rate : kOutputRate;
}

class GeminiProtocol final : public Protocol {
 public:
  explicit GeminiProtocol(const models::ProviderOptions& options) : options_(options) {}

  // The first message contains the resumption handle, so it is sent when both the connection and
  // the configuration are ready.
  void Begin(const LinkConfig& config) override {
    config_ = config;
    begun_ = true;
    if (open_) SendSetup();
  }

  void OnOpen() override {
    open_ = true;
    if (begun_) return SendSetup();
    Push({.kind = Kind::kPrepared});
  }

  void OnMessage(std::string_view text) override {
    models::JsonTree tree;
    const JsonNode* message = tree.Parse(text);
    if (message != nullptr && !message->is_object()) message = nullptr;
    if (message == nullptr) return;
    if (models::FindMember(*message, "setupComplete") != nullptr) TakeReady();
    if (const JsonNode* content = ObjectAt(*message, "serverContent")) TakeContent(*content);
    if (const JsonNode* call = ObjectAt(*message, "toolCall")) TakeCalls(*call);
    if (const JsonNode* cancelled = ObjectAt(*message, "toolCallCancellation")) {
      TakeCancelled(*cancelled);
    }
    if (const JsonNode* update = ObjectAt(*message, "sessionResumptionUpdate")) {
      const std::string_view handle = StringAt(*update, "newHandle");
      if (IsTrueAt(*update, "resumable") && !handle.empty()) {
        Push({.kind = Kind::kResumption, .text = std::string(handle)});
      }
    }
    if (const JsonNode* leaving = ObjectAt(*message, "goAway")) {
      Push({.kind = Kind::kGoAway, .time_left = Seconds(StringAt(*leaving, "timeLeft"))});
    }
    if (const JsonNode* fault = ObjectAt(*message, "error")) TakeError(*fault);
  }

  void SendAudio(std::string_view pcm) override {
    Send(R"({"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":")" +
         models::EncodeBase64(pcm) + "\"}}}");
  }

  void SendText(const std::string& text) override {
    CutAnswer();
    if (turn_ == Turn::kOpen) {
      turn_ = Turn::kCutOff;
      passed_over_ = 0;
    } else if (turn_ == Turn::kGenerated) {
      turn_ = Turn::kInterrupted;
    }
    SendTurns({Message::User(text)}, true);
  }

  bool SendActivity(bool start) override {
    if (config_.vad.enabled.value_or(true)) return false;
    Send(start ? R"({"realtimeInput":{"activityStart":{}}})"
               : R"({"realtimeInput":{"activityEnd":{}}})");
    return true;
  }

  void SendToolReplies(const std::vector<ToolReply>& replies) override {
    json responses = json::array();
    for (const ToolReply& reply : replies) {
      Result<json> output = ParseJson(reply.output_json);
      json response = output.ok() ? *std::move(output) : json(reply.output_json);
      if (!response.is_object()) response = {{"result", std::move(response)}};
      json entry = {{"name", reply.name}, {"response", std::move(response)}};
      if (!reply.id.empty()) entry["id"] = reply.id;
      responses.push_back(std::move(entry));
    }
    Send(DumpJson({{"toolResponse", {{"functionResponses", std::move(responses)}}}}));
  }

  void EndAudio() override {
    if (SendActivity(false)) return;
    Send(R"({"realtimeInput":{"audioStreamEnd":true}})");
  }

  // The provider tracks by itself what it has sent.
  void Truncate(milliseconds) override {}

  bool Reconfigure(const LinkConfig&) override { return false; }

 private:
  // The model's turn, according to the messages received so far.
  enum class Turn : uint8_t {
    kOver,
    kOpen,         // the model is answering
    kGenerated,    // the whole answer has arrived; turnComplete follows
    kCutOff,       // cut off by a text that the provider had not received yet
    kInterrupted,  // the provider knows of the interruption; turnComplete follows
  };

  void SendSetup() { Send(DumpJson({{"setup", Setup(options_, config_)}})); }

  void TakeReady() {
    if (!begun_ || std::exchange(ready_, true)) return;
    if (!config_.history.empty()) {
      SendTurns(std::exchange(config_.history, {}), config_.respond);
    } else if (config_.respond) {
      Push({.kind = Kind::kNothingAsked});
    }
    Push({.kind = Kind::kReady});
  }

  void TakeContent(const JsonNode& content) {
    if (IsTrueAt(content, "interrupted")) {
      if (turn_ != Turn::kCutOff) Push({.kind = Kind::kInterrupted});
      turn_ = Turn::kInterrupted;
    }
    if (const JsonNode* input = ObjectAt(content, "inputTranscription")) {
      TakeTranscript(Kind::kInputTranscript, *input);
    }
    // Taken before the audio that speaks it.
    if (const JsonNode* output = ObjectAt(content, "outputTranscription")) {
      TakeTranscript(Kind::kOutputTranscript, *output);
    }
    if (const JsonNode* turn = ObjectAt(content, "modelTurn")) {
      if (const JsonNode* parts = ArrayAt(*turn, "parts")) {
        for (const JsonNode& part : JsonItems(*parts)) {
          if (part.is_object()) TakePart(part);
        }
      }
    }
    if (IsTrueAt(content, "generationComplete")) TakeGenerated();
    // turnComplete also follows an interrupted answer. Then the input that interrupted it still has
    // no answer.
    if (IsTrueAt(content, "turnComplete")) {
      const bool cut = turn_ == Turn::kCutOff || turn_ == Turn::kInterrupted;
      turn_ = Turn::kOver;
      Push({.kind = Kind::kTurnComplete, .answer_due = cut});
    }
  }

  void TakeGenerated() {
    if (turn_ == Turn::kOpen) turn_ = Turn::kGenerated;
    if (turn_ == Turn::kCutOff) turn_ = Turn::kInterrupted;
  }

  // Handles a piece of an answer. False if that answer was cut off.
  bool Answers() {
    if (turn_ == Turn::kCutOff && ++passed_over_ <= kPassedOverMax) return false;
    turn_ = Turn::kOpen;
    return true;
  }

  void TakeTranscript(Kind kind, const JsonNode& transcription) {
    const std::string_view text = StringAt(transcription, "text");
    if (text.empty() || (kind == Kind::kOutputTranscript && !Answers())) return;
    Push({.kind = kind, .text = std::string(text)});
  }

  void TakePart(const JsonNode& part) {
    if (const JsonNode* data = ObjectAt(part, "inlineData")) {
      const std::string_view type = StringAt(*data, "mimeType");
      std::optional<std::string> pcm = models::DecodeBase64(StringAt(*data, "data"));
      if (!type.starts_with("audio/") || !pcm || pcm->empty()) return;
      const int rate = RateOf(type);
      if (rate != rate_) {
        rate_ = rate;
        resampler_.emplace(rate, kOutputRate);
      }
      if (!Answers()) return;
      std::string samples = WholeSamples(*std::move(pcm));
      if (resampler_) samples = resampler_->Convert(samples);
      if (!samples.empty()) Push({.kind = Kind::kAudio, .text = std::move(samples)});
    } else if (!IsTrueAt(part, "thought")) {
      TakeTranscript(Kind::kOutputTranscript, part);
    }
  }

  void TakeCalls(const JsonNode& call) {
    Event event{.kind = Kind::kToolCalls};
    if (const JsonNode* list = ArrayAt(call, "functionCalls")) {
      for (const JsonNode& value : JsonItems(*list)) {
        const JsonNode* entry = value.is_object() ? &value : nullptr;
        if (entry == nullptr) continue;
        const JsonNode* arguments = ObjectAt(*entry, "args");
        event.calls.push_back({std::string(StringAt(*entry, "id")),
                               std::string(StringAt(*entry, "name")),
                               arguments != nullptr ? models::JsonText(*arguments) : "{}"});
      }
    }
    if (!event.calls.empty()) Push(std::move(event));
  }

  void TakeCancelled(const JsonNode& cancelled) {
    Event event{.kind = Kind::kToolsCancelled};
    if (const JsonNode* ids = ArrayAt(cancelled, "ids")) {
      for (const JsonNode& id : JsonItems(*ids)) {
        if (id.is_string()) event.calls.push_back({.id = std::string(id.text), .name = {}});
      }
    }
    if (!event.calls.empty()) Push(std::move(event));
  }

  void TakeError(const JsonNode& fault) {
    Event event{.kind = ready_ ? Kind::kError : Kind::kClosed};
    event.text = StringAt(fault, "message");
    event.code = StringAt(fault, "status");
    if (event.code.empty()) event.code = "provider_error";
    turn_ = Turn::kOver;  // the end of the failed turn may not be reported
    EndAnswerAudio();
    Push(std::move(event));
  }

  void SendTurns(const std::vector<Message>& messages, bool complete) {
    json turns = json::array();
    for (const Message& message : messages) turns.push_back(Content(message));
    Send(DumpJson({{"clientContent", {{"turns", std::move(turns)}, {"turnComplete", complete}}}}));
  }

  const models::ProviderOptions options_;
  LinkConfig config_;
  bool begun_ = false;
  bool open_ = false;
  bool ready_ = false;
  Turn turn_ = Turn::kOver;
  int passed_over_ = 0;  // messages skipped since the turn was cut off
  int rate_ = kOutputRate;
  std::optional<Resampler> resampler_;  // not set while the provider's rate is kOutputRate
};

net::WebSocketOptions GeminiEndpoint(const models::ProviderOptions& options, const LinkConfig&) {
  net::WebSocketOptions connection;
  models::BaseUrl base = WebSocketUrl(options.base_url);
  RemoveVersion(base.before_query);  // the Live API has its own path
  connection.url = base.With(kService);
  if (!options.api_key.empty()) connection.headers.emplace_back("x-goog-api-key", options.api_key);
  return connection;
}

}  // namespace

Dialect GeminiDialect() {
  return {&GeminiEndpoint,
          [](const models::ProviderOptions& options, const LinkConfig&) {
            return std::unique_ptr<Protocol>(std::make_unique<GeminiProtocol>(options));
          },
          // A handle names a session, and a session is bound to one connection.
          /*one_link_at_a_time=*/true,
          /*resumes=*/true};
}

}  // namespace agent_graph::realtime

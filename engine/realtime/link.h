// Link: a conversation with a realtime model over one connection to its provider, with audio and
// text in both directions.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/live_agent.h"
#include "agent_graph/message.h"
#include "base/clock.h"
#include "models/model.h"

namespace agent_graph::realtime {

// Audio is PCM16, little endian, mono.
inline constexpr int kInputRate = 16'000;   // Hz, audio sent to a link
inline constexpr int kOutputRate = 24'000;  // Hz, audio received from it

// The configuration of a session.
struct LinkConfig {
  std::string entry = {};  // the name that graphs use for the model; fixed for a link
  std::string model = {};  // the provider's name; empty: the configured one
  std::string voice = {};
  Modality modality = Modality::kAudio;
  std::string system_prompt = {};
  std::vector<models::ToolDeclaration> tools = {};
  VoiceActivity vad = {};
  std::string parameters_json = "{}";
  // Resumes that session of the provider; empty: a new session.
  std::string resumption_handle = {};
  std::vector<Message> history = {};  // earlier messages that the provider does not know
  bool respond = false;               // the model answers the history without further input
};

// A tool call of the model.
struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments_json = "{}";  // always a JSON object
  bool broken = false;                // the model's arguments were not a JSON object
};

// The result of a tool call, for the model.
struct ToolReply {
  std::string id;
  std::string name;
  std::string output_json = "null";
  bool is_error = false;
};

struct Event {
  enum class Kind : uint8_t {
    kPrepared,          // before Begin: the connection is set up as far as possible without it
    kReady,             // the provider has accepted the configuration
    kSpeechStarted,     // the provider has detected speech of the user
    kNothingAsked,      // no answer will come: no speech was found, or there is nothing to answer
    kInputExpected,     // the user's transcript will follow, possibly after the answer
    kInputTranscript,   // `text`: a piece; if `finished` the complete text, empty if unknown
    kOutputTranscript,  // the same for the model's words
    kAudio,             // `text`: PCM16 at kOutputRate
    kToolCalls,         // `calls`
    kToolsCancelled,    // `calls`, only the ids are set: do not answer them any more
    kTurnComplete,
    kInterrupted,  // the user interrupted the answer; no more of it will come
    kResumption,   // `text`: a handle for LinkConfig::resumption_handle
    kGoAway,       // `time_left`: the provider will close the connection
    kError,        // `code`, `text`: the session continues
    kClosed,       // the last event: `code`, `text`; `retry`: a new connection may work
  };
  Kind kind = Kind::kReady;
  std::string text = {};
  std::string code = {};
  bool finished = false;
  size_t later = 0;         // kInputTranscript: number of later utterances without a final one
  bool answer_due = false;  // kTurnComplete: an answer to the latest input is still to come
  bool retry = true;
  bool connected = true;  // kClosed: the connection had been established
  std::chrono::milliseconds time_left{0};
  std::vector<ToolCall> calls = {};
  Deadline arrived{};  // when it was received from the network; not set for links without a network
};

// Use it on the fiber that opened it; no function suspends. Destroying it closes the connection.
class Link {
 public:
  virtual ~Link() = default;

  // Starts the session; call it once. `config` may differ from that of Prepare only in `history`,
  // `respond` and `resumption_handle`.
  virtual void Begin(const LinkConfig& config) = 0;
  // Ends the session; nothing more is sent. kClosed follows when the provider has confirmed the end
  // or does not respond.
  virtual void Leave() = 0;

  // The calls below are ignored before kReady and after kClosed.
  virtual void SendAudio(std::string_view pcm) = 0;  // at kInputRate
  // Cuts off the current answer: no more of it is delivered.
  virtual void SendText(const std::string& text) = 0;
  // Start or end of speech, detected by the client. False: not applicable here, and not sent.
  virtual bool SendActivity(bool start) = 0;
  virtual void SendToolReplies(const std::vector<ToolReply>& replies) = 0;
  // No more audio will come: the model should answer what was said so far.
  virtual void EndAudio() = 0;
  // The user has heard only this much of the interrupted turn.
  virtual void Truncate(std::chrono::milliseconds heard) = 0;
  // Continues with another configuration. False: a new connection is needed for it.
  virtual bool Reconfigure(const LinkConfig& config) = 0;

  // Bytes waiting to be sent. A caller that sends only while this is small needs no other limit.
  virtual size_t unsent_bytes() const = 0;
  // Bytes that the link holds in memory for long: those, and what a model in process remembers.
  virtual size_t held_bytes() const { return unsent_bytes(); }
  // The next event. nullopt: wait for `wake`, or until wake_at().
  virtual std::optional<Event> Next() = 0;
  virtual Deadline wake_at() const { return kNoDeadline; }
};

// Creates links. Thread-safe; one instance serves all fibers of a worker.
class Provider {
 public:
  virtual ~Provider() = default;

  // Connects before Begin is called. Never fails: errors are reported as a kClosed event. `wake` is
  // called on the calling engine thread when Next or unsent_bytes may have changed, but never after
  // the link was destroyed.
  virtual std::unique_ptr<Link> Prepare(const LinkConfig& config, std::function<void()> wake) = 0;
  // True: a session can continue on a new link only after the old link has ended.
  virtual bool one_link_at_a_time() const { return false; }
  // True: LinkConfig::resumption_handle is supported. False: a session is continued by sending its
  // history.
  virtual bool resumes() const { return false; }

  std::unique_ptr<Link> Open(const LinkConfig& config, std::function<void()> wake) {
    std::unique_ptr<Link> link = Prepare(config, std::move(wake));
    link->Begin(config);
    return link;
  }
};

}  // namespace agent_graph::realtime

// A conversation with a realtime model: one connection to its provider, sound and text both ways.
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

// PCM16, little endian, mono.
inline constexpr int kInputRate = 16'000;   // what is sent to a link
inline constexpr int kOutputRate = 24'000;  // what comes from it

struct LinkConfig {
  std::string entry = {};  // the name that graphs use for the model; a link keeps to it
  std::string model = {};  // the provider's name; empty: the configured one
  std::string voice = {};
  Modality modality = Modality::kAudio;
  std::string system_prompt = {};
  std::vector<models::ToolDeclaration> tools = {};
  VoiceActivity vad = {};
  std::string parameters_json = "{}";
  // Continues that session of the provider; empty: a new one.
  std::string resumption_handle = {};
  std::vector<Message> history = {};  // what was said before, and the provider does not know
  bool respond = false;               // the model answers to the history without further input
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments_json = "{}";  // an object
  bool broken = false;                // what the model gave as arguments is none
};

struct ToolReply {
  std::string id;
  std::string name;
  std::string output_json = "null";
  bool is_error = false;
};

struct Event {
  enum class Kind : uint8_t {
    kPrepared,          // before Begin: everything that is possible without it is done
    kReady,             // the provider has accepted the configuration
    kSpeechStarted,     // of the user, as the provider hears it
    kNothingAsked,      // that came to nothing, or there was nothing to answer: no answer will come
    kInputExpected,     // the user's words will follow, maybe later than the answer
    kInputTranscript,   // `text`: a piece; with `finished` all of it, or nothing more is known
    kOutputTranscript,  // the same
    kAudio,             // `text`: PCM16 at kOutputRate
    kToolCalls,         // `calls`
    kToolsCancelled,    // `calls`, of which only the ids are set, are not to be answered any more
    kTurnComplete,
    kInterrupted,  // the user spoke into the answer, of which nothing more comes
    kResumption,   // `text`: a handle for LinkConfig::resumption_handle
    kGoAway,       // `time_left`: the provider will close this connection
    kError,        // `code`, `text`: the session goes on
    kClosed,       // the last event: `code`, `text`; `retry`: another connection may work
  };
  Kind kind = Kind::kReady;
  std::string text = {};
  std::string code = {};
  bool finished = false;
  size_t later = 0;  // of kInputTranscript: utterances announced after this one and not finished
  bool answer_due = false;  // kTurnComplete: what was said is still to be answered
  bool retry = true;
  bool connected = true;  // kClosed: the provider itself ended it
  std::chrono::milliseconds time_left{0};
  std::vector<ToolCall> calls = {};
  Deadline arrived{};  // from the network; of links without one not set
};

// Used on the fiber that opened it; nothing here suspends. Destroying it closes the connection.
class Link {
 public:
  virtual ~Link() = default;

  // Once: the session starts. `config` differs from that of Prepare in what was said meanwhile
  // only.
  virtual void Begin(const LinkConfig& config) = 0;
  // Nothing more is sent; kClosed tells that the provider knows of the end, or does not answer.
  virtual void Leave() = 0;

  // Before kReady and after kClosed these are ignored.
  virtual void SendAudio(std::string_view pcm) = 0;  // at kInputRate
  // Cuts an answer off: nothing more comes of it.
  virtual void SendText(const std::string& text) = 0;
  // False: it means nothing here, and was not sent.
  virtual bool SendActivity(bool start) = 0;
  virtual void SendToolReplies(const std::vector<ToolReply>& replies) = 0;
  // No more sound will come: what was said so far is to be answered.
  virtual void EndAudio() = 0;
  // Of the interrupted turn the user has heard this much.
  virtual void Truncate(std::chrono::milliseconds heard) = 0;
  // Goes on under another configuration. False: that takes another connection.
  virtual bool Reconfigure(const LinkConfig& config) = 0;

  // What waits for the network; a caller that goes on sending only while it is small needs no bound
  // of its own.
  virtual size_t unsent_bytes() const = 0;
  // Nothing: wait for `wake`, or until wake_at().
  virtual std::optional<Event> Next() = 0;
  virtual Deadline wake_at() const { return kNoDeadline; }
};

// Thread-safe; one instance serves all fibers of a worker.
class Provider {
 public:
  virtual ~Provider() = default;

  // Connects, ahead of Begin. Never fails: what goes wrong is a kClosed event. `wake` is called on
  // the calling engine thread when Next or unsent_bytes may have something new; never after the
  // link was destroyed.
  virtual std::unique_ptr<Link> Prepare(const LinkConfig& config, std::function<void()> wake) = 0;
  // A session goes on over another link only when the one before has ended.
  virtual bool one_link_at_a_time() const { return false; }
  // LinkConfig::resumption_handle is heard; where it is not, a session goes on when its history is
  // told.
  virtual bool resumes() const { return false; }

  std::unique_ptr<Link> Open(const LinkConfig& config, std::function<void()> wake) {
    std::unique_ptr<Link> link = Prepare(config, std::move(wake));
    link->Begin(config);
    return link;
  }
};

}  // namespace agent_graph::realtime

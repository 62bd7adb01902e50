// Line: an entry of the conversation in the order in which it was spoken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "agent_graph/message.h"

namespace agent_graph::live {

// Words, tool calls or tool results.
struct Line {
  enum class Kind : uint8_t {
    kThread,       // for the thread and for the history
    kHistory,      // only for the history that another link gets
    kPlaceholder,  // the place of a transcript that has not arrived; the message is empty
    kTranscript,   // a transcript that arrived before those of earlier utterances
  };
  Kind kind = Kind::kThread;
  Message message;
};

// Size of the texts of a message.
size_t BytesOf(const Message& message);

// The transcript of an utterance of the user, as the thread stores it.
Message SpokenByUser(std::string text);

}  // namespace agent_graph::live

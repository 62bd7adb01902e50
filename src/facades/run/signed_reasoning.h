// Reasoning in protocols that have one text and one opaque value for all reasoning of a message. A
// message may have several blocks of it, each with a signature that fits only its own text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::facades {

// Returns the opaque value for a client that has `shown_bytes` of text: the joined texts of the
// blocks, and maybe more behind them. Empty: no block is signed. A signature that fits all of the
// text stays as it is.
std::string SignatureOf(const Message& message, size_t shown_bytes);
// The same for a client that has the joined texts only.
std::string SignatureOf(const Message& message);

// Splits the reasoning that clients send back. One object is for all reasoning of a request: a
// short text may name many blocks, which take much more memory than the request.
class ReasoningSplitter {
 public:
  // Blocks of a request, beyond one for each value.
  static constexpr size_t kFurtherBlocksMax = 1000;

  // Returns the blocks of reasoning that a client has sent back as one; they are one block without
  // a signature if there are too many. A signature whose text is missing is left out.
  std::vector<ReasoningBlock> Split(ReasoningBlock joined);

 private:
  size_t further_blocks_ = 0;
};

}  // namespace agent_graph::facades

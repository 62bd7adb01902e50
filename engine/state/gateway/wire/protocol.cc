#include "state/gateway/wire/protocol.h"

#include "base/free_memory.h"

namespace agent_graph::state::wire {
namespace {

// The array marker and the type precede the two numbers that are patched.
constexpr size_t kSequencePosition = kFrameHeaderBytes + 2;
constexpr size_t kFixedUnsignedBytes = 9;
constexpr size_t kAcknowledgedPosition = kSequencePosition + kFixedUnsignedBytes;

constexpr size_t kFrameBytesUsual = 1024;

// Larger buffers are freed after use.
constexpr size_t kBufferKeptBytes = 1024 * 1024;

uint32_t ReadLength(std::string_view bytes) {
  uint32_t length = 0;
  for (int i = 3; i >= 0; --i) {
    length = length << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  }
  return length;
}

}  // namespace

std::string BeginFrame(FrameType type, size_t items_after_type) {
  std::string frame;
  frame.reserve(kFrameBytesUsual);
  frame.resize(kFrameHeaderBytes);
  pack::Packer packer(frame);
  packer.Array(items_after_type + 1);
  pack::Pack(packer, type);
  return frame;
}

bool EndFrame(std::string& frame) {
  size_t length = frame.size() - kFrameHeaderBytes;
  if (length > kFrameBytesMax) return false;
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) frame[i] = static_cast<char>(length >> (8 * i));
  return true;
}

std::string MakeFrame(FrameType type) {
  std::string frame = BeginFrame(type, 0);
  return EndFrame(frame) ? frame : std::string();
}

std::string BeginRequest(Operation operation, int64_t micros) {
  std::string frame = BeginFrame(FrameType::kRequest, 5);
  pack::Packer packer(frame);
  packer.FixedUnsigned(0);
  packer.FixedUnsigned(0);
  pack::Pack(packer, operation);
  pack::Pack(packer, micros);
  return frame;
}

void NumberRequest(std::string& frame, uint64_t sequence, uint64_t acknowledged_below) {
  pack::PatchFixedUnsigned(frame, kSequencePosition, sequence);
  pack::PatchFixedUnsigned(frame, kAcknowledgedPosition, acknowledged_below);
}

Operation OperationOf(std::string_view frame) {
  pack::Unpacker unpacker(frame.substr(kFrameHeaderBytes));
  ReadFrameType(unpacker);
  return ReadRequestHeader(unpacker).operation;
}

std::string MakeReply(uint64_t sequence, const Status& status, std::string_view body) {
  std::string frame = BeginFrame(FrameType::kReply, body.empty() ? 4 : 5);
  pack::Packer packer(frame);
  packer.Unsigned(sequence);
  pack::Pack(packer, status.code());
  packer.Text(status.message());
  packer.Text(status.detail());
  frame.append(body);
  if (EndFrame(frame)) return frame;
  return MakeReply(sequence,
                   Status(StatusCode::kResourceExhausted, "the stored state is too large to send"),
                   {});
}

std::string MakeMessage(const ClientMessage& message, uint32_t protocol) {
  struct Frames {
    uint32_t protocol;
    std::string operator()(const state::Welcome& welcome) const {
      return MakeFrame(FrameType::kWelcome, Welcome{protocol, welcome.epoch});
    }
    std::string operator()(const Reply& reply) const {
      return MakeReply(reply.sequence, reply.status, reply.body);
    }
    std::string operator()(const Queued& queued) const {
      return MakeFrame(FrameType::kQueued, queued);
    }
    std::string operator()(const CancelRun& cancel) const {
      return MakeFrame(FrameType::kCancelRun, cancel);
    }
    std::string operator()(const ThreadDeleted& deleted) const {
      return MakeFrame(FrameType::kThreadDeleted, deleted);
    }
    std::string operator()(const Ping&) const { return MakeFrame(FrameType::kPing); }
    std::string operator()(const GrantedRun& granted) const {
      return MakeFrame(FrameType::kGrantedRun, granted);
    }
    std::string operator()(const RunWatched& watched) const {
      return MakeFrame(FrameType::kRunWatched, watched);
    }
  };
  return std::visit(Frames{protocol}, message);
}

FrameType ReadFrameType(pack::Unpacker& unpacker) {
  if (unpacker.Array() == 0) unpacker.Fail();
  auto type = static_cast<FrameType>(unpacker.Unsigned());
  return unpacker.ok() ? type : FrameType{};
}

RequestHeader ReadRequestHeader(pack::Unpacker& unpacker) {
  RequestHeader header;
  header.sequence = unpacker.Unsigned();
  header.acknowledged_below = unpacker.Unsigned();
  pack::Unpack(unpacker, header.operation);
  pack::Unpack(unpacker, header.micros);
  return header;
}

ReplyHeader ReadReplyHeader(pack::Unpacker& unpacker) {
  ReplyHeader header;
  header.sequence = unpacker.Unsigned();
  pack::Unpack(unpacker, header.code);
  header.message = unpacker.Text();
  header.detail = unpacker.Text();
  return header;
}

void FrameReader::Add(std::string_view bytes) {
  if (consumed_ == buffer_.size()) {
    if (buffer_.capacity() > kBufferKeptBytes) FreeMemory(buffer_);
    buffer_.clear();
    consumed_ = 0;
  }
  buffer_.append(bytes);
}

bool FrameReader::Next(std::string& payload) {
  std::string_view rest = std::string_view(buffer_).substr(consumed_);
  if (broken_ || rest.size() < kFrameHeaderBytes) return false;
  size_t length = ReadLength(rest);
  if (length > kFrameBytesMax) {
    broken_ = true;
    return false;
  }
  if (rest.size() - kFrameHeaderBytes < length) {
    // Frees the consumed part and reserves room for the whole frame.
    buffer_.erase(0, consumed_);
    consumed_ = 0;
    buffer_.reserve(kFrameHeaderBytes + length);
    return false;
  }
  payload.assign(rest.substr(kFrameHeaderBytes, length));
  consumed_ += kFrameHeaderBytes + length;
  return true;
}

}  // namespace agent_graph::state::wire

#include "process/process.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <mutex>
#include <utility>

#include "process/spawn_protocol.h"
#include "process/spawner_socket.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::process {
namespace {

using boost::system::error_code;
using Descriptor = boost::asio::posix::stream_descriptor;

constexpr size_t kReadBytes = 64 * 1024;
constexpr int kAsksMax = 3;

// A descriptor on the loop of its engine thread. Handlers hold a reference to it, so that the
// buffers they use outlive a fiber that gave up.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(boost::asio::io_context& loop, int descriptor) : descriptor_(loop, descriptor) {}

  Status Write(std::string_view bytes, const runtime::Cancellation& cancellation,
               Deadline deadline) {
    outgoing_.assign(bytes);
    return Await(cancellation, deadline,
                 [this](auto done) {
                   boost::asio::async_write(descriptor_, boost::asio::buffer(outgoing_), done);
                 })
        .status();
  }

  Result<std::string> Read(const runtime::Cancellation& cancellation, Deadline deadline) {
    incoming_.resize(kReadBytes);
    Result<size_t> got = Await(cancellation, deadline, [this](auto done) {
      descriptor_.async_read_some(boost::asio::buffer(incoming_), done);
    });
    if (!got.ok()) return got.status();
    incoming_.resize(*got);
    return std::exchange(incoming_, {});
  }

  Result<std::string> Receive(Descriptors* descriptors, const runtime::Cancellation& cancellation,
                              Deadline deadline) {
    for (;;) {
      if (!descriptor_.is_open()) return std::string();
      if (auto packet = ReceivePacket(descriptor_.native_handle(), descriptors)) return *packet;
      AG_RETURN_IF_ERROR(Await(cancellation, deadline, [this](const auto& done) {
                           descriptor_.async_wait(Descriptor::wait_read,
                                                  [done](error_code error) { done(error, 0); });
                         }).status());
    }
  }

  int native_handle() { return descriptor_.native_handle(); }
  void Close() {
    error_code ignored;
    descriptor_.close(ignored);
  }

 private:
  // The end of the stream is not an error: it returns 0 bytes.
  template <typename Start>
  Result<size_t> Await(const runtime::Cancellation& cancellation, Deadline deadline, Start start) {
    if (!descriptor_.is_open()) return Unavailable("the program has ended");
    runtime::Promise<std::pair<error_code, size_t>> promise;
    start([self = shared_from_this(), promise](error_code error, size_t bytes) {
      promise.Set({error, bytes});
    });
    auto result = promise.Wait(&cancellation, deadline);
    if (!result.ok()) {
      error_code ignored;
      descriptor_.cancel(ignored);
      return result.status();
    }
    if (result->first == boost::asio::error::eof) return size_t{0};
    if (result->first) return Unavailable(result->first.message());
    return result->second;
  }

  Descriptor descriptor_;
  std::string outgoing_;
  std::string incoming_;
};

using StreamPtr = std::shared_ptr<Stream>;

class SpawnedProcess : public Process {
 public:
  SpawnedProcess(boost::asio::io_context& loop, pid_t pid, StreamPtr control,
                 const Descriptors& pipes)
      : loop_(loop),
        pid_(pid),
        control_(std::move(control)),
        input_(std::make_shared<Stream>(loop, pipes[0])),
        output_(std::make_shared<Stream>(loop, pipes[1])),
        errors_(std::make_shared<Stream>(loop, pipes[2])) {}
  ~SpawnedProcess() override {
    SpawnedProcess::Kill();
    // Closed on their own thread, because handlers may be running there.
    boost::asio::post(loop_, [input = input_, output = output_, errors = errors_] {
      input->Close();
      output->Close();
      errors->Close();
    });
  }

  pid_t pid() const override { return pid_; }

  Status Write(std::string_view bytes, const runtime::Cancellation& cancellation,
               Deadline deadline) override {
    return input_->Write(bytes, cancellation, deadline);
  }
  void CloseInput() override { input_->Close(); }
  Result<std::string> ReadOutput(const runtime::Cancellation& cancellation,
                                 Deadline deadline) override {
    return output_->Read(cancellation, deadline);
  }
  Result<std::string> ReadErrors(const runtime::Cancellation& cancellation,
                                 Deadline deadline) override {
    return errors_->Read(cancellation, deadline);
  }

  Result<ProcessEnd> Wait(const runtime::Cancellation& cancellation, Deadline deadline) override {
    AG_ASSIGN_OR_RETURN(const std::string packet,
                        control_->Receive(nullptr, cancellation, deadline));
    if (packet.empty()) return Unavailable("the program was ended");
    return ReadEnd(packet);
  }

  void Kill() override {
    if (killed_.exchange(true)) return;
    boost::asio::post(loop_, [control = control_] { control->Close(); });
  }

 private:
  boost::asio::io_context& loop_;
  const pid_t pid_;
  const StreamPtr control_;
  const StreamPtr input_;
  const StreamPtr output_;
  const StreamPtr errors_;
  std::atomic<bool> killed_{false};
};

// The spawner's reply; `packet` is empty if the spawner ended before it replied.
struct Answer {
  StreamPtr control;
  std::string packet;
  Descriptors pipes = {-1, -1, -1};
};

Result<Answer> Ask(const std::string& state_directory, const std::string& packet, int input,
                   boost::asio::io_context& loop, const runtime::Cancellation& cancellation,
                   Deadline deadline) {
  Answer answer;
  AG_ASSIGN_OR_RETURN(const int socket, ConnectToSpawner(state_directory));
  answer.control = std::make_shared<Stream>(loop, socket);
  const Descriptors sent = {input, -1, -1};
  if (!SendPacket(socket, packet, input >= 0 ? &sent : nullptr)) return answer;
  AG_ASSIGN_OR_RETURN(answer.packet,
                      answer.control->Receive(&answer.pipes, cancellation, deadline));
  return answer;
}

}  // namespace

std::string ProcessEnd::ToString() const {
  if (signal != 0) return "was ended by signal " + std::to_string(signal);
  return "exited with code " + std::to_string(exit_code);
}

Result<std::unique_ptr<Process>> Launcher::Start(const ProcessOptions& options,
                                                 const runtime::Cancellation& cancellation,
                                                 Deadline deadline) const {
  boost::asio::io_context* loop = runtime::Runtime::CurrentLoop();
  if (loop == nullptr) return Unavailable("asked outside of an engine thread");
  const std::string packet = ToPacket(options);
  if (options.arguments.empty() || packet.size() > kPacketBytesMax) {
    return Status(StatusCode::kInvalidArgument, "the program's arguments are too large");
  }
  // If a spawner dies, the programs that it started die with it, and a new spawner follows. So ask
  // again.
  Result<Answer> answer = Answer{};
  for (int ask = 0; ask < kAsksMax && answer.ok() && answer->packet.empty(); ++ask) {
    answer = Ask(state_directory_, packet, options.input, *loop, cancellation, deadline);
  }
  if (!answer.ok()) return answer.status();
  if (answer->packet.empty()) return Unavailable("the spawner does not answer");
  const Descriptors& pipes = answer->pipes;
  Result<StartReply> reply = ReadStartReply(answer->packet);
  const bool whole = pipes[0] >= 0 && pipes[1] >= 0 && pipes[2] >= 0;
  if (reply.ok() && reply->error.empty() && whole) {
    return std::unique_ptr<Process>(
        std::make_unique<SpawnedProcess>(*loop, reply->pid, answer->control, pipes));
  }
  for (int pipe : pipes) {
    if (pipe >= 0) close(pipe);
  }
  if (!reply.ok()) return reply.status();
  if (reply->full) return Status(StatusCode::kResourceExhausted, reply->error);
  if (!reply->error.empty()) return Status(StatusCode::kInvalidArgument, reply->error);
  return Unavailable("the spawner sent no pipes");
}

}  // namespace agent_graph::process

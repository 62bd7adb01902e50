#include "media/extractor.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "media/mime.h"
#include "media/record.h"
#include "media/spool.h"
#include "process/process.h"
#include "runtime/runtime.h"

namespace agent_graph::media {
namespace {

// The time limit of the program itself is shorter; this one applies if the program fails.
constexpr std::chrono::seconds kExtractTimeout{20};
// Longest wait for a turn; a document that waits longer is stored without text.
constexpr std::chrono::seconds kTurnMax{30};
constexpr std::chrono::milliseconds kStartInterval{100};
constexpr std::chrono::minutes kReportInterval{1};
// Limits of the program itself; the child in which it reads a document has stricter limits of CPU
// time and memory.
constexpr uint64_t kProcessorSecondsMax = 20;
constexpr uint64_t kDescriptorsMax = 64;
constexpr std::string_view kTrailer("\0ok", 3);
constexpr size_t kOutputBytesMax = kExtractedTextBytesMax + kTrailer.size();

struct KnownFormat {
  std::string_view type;
  std::string_view format;
};
constexpr KnownFormat kFormats[] = {
    {"application/pdf", "pdf"},
    {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"},
    {"application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"},
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"},
    {"application/vnd.oasis.opendocument.text", "odf"},
    {"application/vnd.oasis.opendocument.spreadsheet", "odf"},
    {"application/vnd.oasis.opendocument.presentation", "odf"},
    {"text/html", "html"},
    {"application/xhtml+xml", "html"},
    {"text/xml", "xml"},
    {"application/xml", "xml"},
    {"text/markdown", "plain"},
    {"text/x-markdown", "plain"},
    {"text/csv", "plain"},
    {"application/json", "plain"},
    {"text/plain", "plain"},
};

std::optional<std::string> TextOf(std::string output) {
  if (output.size() > kOutputBytesMax) {
    output.resize(CutAtCharacter(output, kExtractedTextBytesMax).size());
  } else {
    if (!output.ends_with(kTrailer)) return std::nullopt;
    output.resize(output.size() - kTrailer.size());
  }
  constexpr std::string_view kBlank = " \t\r\n\f";
  const size_t last = output.find_last_not_of(kBlank);
  if (last == std::string::npos) return std::nullopt;  // only pictures
  output.resize(last + 1);
  return output;
}

}  // namespace

std::string_view FormatOf(std::string_view mime_type, std::string_view filename) {
  std::string type = Essence(mime_type);
  if (type.empty() || type == "application/octet-stream") type = TypeOfName(filename);
  for (const KnownFormat& known : kFormats) {
    if (known.type == type) return known.format;
  }
  return {};
}

Extractor::Extractor(std::string program, std::shared_ptr<const process::Launcher> launcher,
                     LogFunction log, std::chrono::milliseconds start_timeout)
    : program_(std::move(program)),
      launcher_(std::move(launcher)),
      log_(std::move(log)),
      start_timeout_(start_timeout) {}

Extractor::~Extractor() = default;

std::optional<std::string> Extractor::Extract(int file, std::string_view format,
                                              const std::string& user) {
  if (format.empty() || program_.empty()) return std::nullopt;
  if (!turns_.Take(user, DeadlineAfter(kTurnMax))) return std::nullopt;
  // Returns the turn in every case, also after an exception, so that the next document can start.
  struct HeldTurn {
    DocumentTurns& turns;
    const std::string& user;
    const Deadline begun = MonotonicClock::now();
    ~HeldTurn() { turns.End(user, MonotonicClock::now() - begun); }
  } const held{turns_, user};
  Result<std::string> output = RunProgram(file, format);
  if (!output.ok()) return std::nullopt;
  return TextOf(*std::move(output));
}

Result<std::unique_ptr<process::Process>> Extractor::StartProgram(int file, std::string_view format,
                                                                  Deadline deadline) {
  process::ProcessOptions options;
  options.arguments = {program_, std::string(format)};
  options.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  options.limits.cpu_seconds = kProcessorSecondsMax;
  options.limits.descriptors = kDescriptorsMax;
  options.input = file;
  const Deadline give_up = DeadlineAfter(start_timeout_);
  for (;;) {
    auto process = launcher_->Start(options, never_, deadline);
    // The spawner restarts together with the helper process, and other programs end.
    const StatusCode code = process.status().code();
    const bool may_pass =
        code == StatusCode::kUnavailable || code == StatusCode::kResourceExhausted;
    if (!may_pass || MonotonicClock::now() >= give_up) {
      if (!process.ok()) Report(process.status());
      return process;
    }
    AG_RETURN_IF_ERROR(runtime::SleepFor(kStartInterval, nullptr));
  }
}

void Extractor::Report(const Status& failure) {
  {
    MutexLock lock(mutex_);
    const Deadline now = MonotonicClock::now();
    if (now < next_report_) return;
    next_report_ = now + kReportInterval;
  }
  log_("documents are stored without their text: " + failure.message());
}

Result<std::string> Extractor::RunProgram(int file, std::string_view format) {
  // Opened again so that the program receives a read-only descriptor with its own position.
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const FileDescriptor input(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!input) return FileError("opening a document");
  const Deadline deadline = DeadlineAfter(kExtractTimeout);
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<process::Process> process,
                      StartProgram(input.get(), format, deadline));
  std::string output;
  while (output.size() <= kOutputBytesMax) {
    AG_ASSIGN_OR_RETURN(const std::string piece, process->ReadOutput(never_, deadline));
    if (piece.empty()) break;
    output += piece;
  }
  return output;
}

}  // namespace agent_graph::media

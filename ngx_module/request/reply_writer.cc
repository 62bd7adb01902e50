#include "ngx_module/request/reply_writer.h"

#include <algorithm>
#include <cstring>

#include "base/block_pool.h"
#include "base/check.h"
#include "base/free_memory.h"
#include "base/header_value.h"
#include "base/letter_case.h"

namespace agent_graph::nginx {
namespace {

// Limits of the data that a stream passes to nginx at a time. They are above what the socket of an
// ordinary client accepts at once, and the chain stays short.
constexpr uint64_t kHandedBytesMax = 64 * 1024;
constexpr int kHandedPiecesMax = 16;

// Larger chunks are not copied into blocks.
constexpr size_t kJoinedBytesMax = 64 * 1024;

// One pool per process; never destroyed, because requests may outlive static objects.
BlockPool& Blocks() {
  static auto* const blocks = new BlockPool;
  return *blocks;
}

// True for headers that nginx writes itself, once, as the connection's protocol requires; HTTP/2
// has no Connection header.
bool BelongsToNginx(std::string_view name) {
  for (std::string_view own :
       {"Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Date", "Server"}) {
    if (EqualsIgnoringCase(name, own)) return true;
  }
  return false;
}

ngx_int_t DisableNagle(ngx_http_request_t* request) {
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_get_module_loc_conf(request, ngx_http_core_module));
  if (!core->tcp_nodelay) return NGX_OK;
  return ngx_tcp_nodelay(request->connection);
}

}  // namespace

struct ReplyWriter::FilePart {
  FileDescriptor descriptor;
  ngx_file_t file_of_nginx;
};

ReplyWriter::Piece::Piece() {
  ngx_memzero(&buffer, sizeof(buffer));
  buffer.memory = 1;  // read-only memory
  link.buf = &buffer;
  link.next = nullptr;
}

ReplyWriter::Piece::~Piece() {
  if (block != nullptr) Blocks().Give(block);
}

void ReplyWriter::Piece::PointTo(std::string_view data) {
  // nginx's buffers have no const pointers.
  auto* begin = reinterpret_cast<u_char*>(const_cast<char*>(data.data()));
  buffer.start = buffer.pos = begin;
  buffer.end = buffer.last = begin + data.size();
}

size_t ReplyWriter::Piece::room() const {
  return block == nullptr ? 0 : static_cast<size_t>(buffer.end - buffer.last);
}

void ReplyWriter::PieceList::Push(Piece* piece) {
  piece->next = nullptr;
  (last == nullptr ? first : last->next) = piece;
  last = piece;
}

ReplyWriter::Piece* ReplyWriter::PieceList::Pop() {
  Piece* piece = first;
  if (piece == nullptr) return nullptr;
  first = piece->next;
  if (first == nullptr) last = nullptr;
  return piece;
}

void ReplyWriter::PieceList::Clear() {
  while (Piece* piece = Pop()) delete piece;
}

ReplyWriter::~ReplyWriter() {
  pending_.Clear();
  busy_.Clear();
}

void ReplyWriter::SetHead(bridge::ReplyHead head) {
  if (has_head()) return;
  length_ = head.content_length;
  head_ = std::move(head);
}

void ReplyWriter::CheckOpen() const {
  AG_CHECK(has_head(), "a body follows its head");
  AG_CHECK(!sealed_, "nothing follows the end of a body");
}

void ReplyWriter::Finish() {
  AG_CHECK(has_head(), "a reply that ends has a head");
  finished_ = sealed_ = true;
}

void ReplyWriter::Append(std::string bytes) {
  if (bytes.empty()) return;  // nginx treats an empty buffer as a fault
  CheckOpen();
  appended_ += static_cast<int64_t>(bytes.size());
  if (request_->header_only) {
    released_ += bytes.size();
    return;
  }
  // For a client that keeps up, each chunk is passed on without a copy.
  if (pending_.first != nullptr && bytes.size() < kJoinedBytesMax) return Join(bytes);
  auto* piece = new Piece;
  piece->bytes = std::move(bytes);
  piece->counted = piece->bytes.size();
  piece->PointTo(piece->bytes);
  pending_.Push(piece);
}

// Appends a copy of the bytes to what is pending.
void ReplyWriter::Join(std::string_view bytes) {
  while (!bytes.empty()) {
    if (pending_.last->room() == 0) {
      auto piece = std::make_unique<Piece>();
      piece->block = Blocks().Take();
      piece->PointTo({piece->block, BlockPool::kBlockBytes});
      piece->buffer.last = piece->buffer.pos;
      pending_.Push(piece.release());
    }
    Piece& tail = *pending_.last;
    const size_t size = std::min(bytes.size(), tail.room());
    memcpy(tail.buffer.last, bytes.data(), size);
    tail.buffer.last += size;
    tail.counted += size;
    bytes.remove_prefix(size);
  }
}

void ReplyWriter::AppendLasting(std::string_view bytes) {
  if (bytes.empty()) return;
  CheckOpen();
  appended_ += static_cast<int64_t>(bytes.size());
  if (request_->header_only) return;
  auto* piece = new Piece;
  piece->PointTo(bytes);
  pending_.Push(piece);
}

void ReplyWriter::AppendFile(bridge::SendFile part) {
  CheckOpen();
  appended_ += static_cast<int64_t>(part.length);
  if (request_->header_only) return;
  auto piece = std::make_unique<Piece>();
  piece->file = std::make_unique<FilePart>();
  piece->file->descriptor = std::move(part.file);
  ngx_file_t& file = piece->file->file_of_nginx;
  ngx_memzero(&file, sizeof(file));
  file.fd = piece->file->descriptor.get();
  ngx_str_set(&file.name, "a stored file");  // nginx logs the name if it cannot read the file
  file.log = request_->connection->log;
  piece->buffer.memory = 0;
  piece->buffer.in_file = 1;
  piece->buffer.file = &file;
  piece->buffer.file_pos = static_cast<off_t>(part.offset);
  piece->buffer.file_last = static_cast<off_t>(part.offset + part.length);
  pending_.Push(piece.release());
}

ngx_int_t ReplyWriter::Flush() {
  bool announce_head = false;
  if (head_ && !head_sent_) {
    announce_head = head_->content_length < 0;
    ngx_int_t rc = SendHead();
    if (rc == NGX_ERROR || rc > NGX_OK) return rc;
    if (request_->header_only) {
      released_ = DiscardUnsent();
      pending_.Clear();
    }
  }
  if (request_->header_only) return NGX_OK;
  ngx_int_t rc = SendBody(announce_head);
  if (rc == NGX_ERROR) return rc;
  if (pending_.first != nullptr || request_->out != nullptr || request_->buffered ||
      request_->connection->buffered) {
    return NGX_AGAIN;
  }
  return rc;
}

// `announce_head`: send the head at once, even if the first piece takes long.
ngx_int_t ReplyWriter::SendBody(bool announce_head) {
  const ngx_connection_t* connection = request_->connection;
  ngx_int_t rc = NGX_OK;
  for (bool first = true;; first = false) {
    if (ngx_chain_t* chain = NextChain(); chain != nullptr) {
      rc = ngx_http_output_filter(request_, chain);
    } else if (finished_ && !last_sent_ && head_sent_) {
      last_sent_ = true;
      rc = ngx_http_send_special(request_, NGX_HTTP_LAST);
    } else if (first && announce_head) {
      rc = ngx_http_send_special(request_, NGX_HTTP_FLUSH);
    } else if (first &&
               (busy_.first != nullptr || request_->out != nullptr || connection->buffered) &&
               connection->write->ready && !connection->write->delayed) {
      rc = ngx_http_output_filter(request_, nullptr);
    } else {
      return rc;
    }
    if (rc == NGX_ERROR) return rc;
    progress_ = true;
    Recycle();
  }
}

uint64_t ReplyWriter::TakeReleased() {
  return std::exchange(released_, 0);
}

uint64_t ReplyWriter::DiscardUnsent() {
  uint64_t bytes = TakeReleased();
  for (const PieceList* list : {&pending_, &busy_}) {
    for (Piece* piece = list->first; piece != nullptr; piece = piece->next) {
      bytes += std::exchange(piece->counted, 0);
    }
  }
  return bytes;
}

uint64_t ReplyWriter::unsent_bytes() const {
  uint64_t bytes = 0;
  for (const PieceList* list : {&pending_, &busy_}) {
    for (const Piece* piece = list->first; piece != nullptr; piece = piece->next) {
      bytes += piece->unsent();
    }
  }
  return bytes;
}

ngx_int_t ReplyWriter::SendHead() {
  AG_CHECK(head_ && !head_sent_, "a reply has one head");
  const bridge::ReplyHead& head = *head_;
  head_sent_ = true;
  if (head.content_length < 0 && DisableNagle(request_) != NGX_OK) return NGX_ERROR;
  request_->headers_out.status = head.status;
  request_->headers_out.content_length_n = head.content_length;
  request_->disable_not_modified = 1;  // the engine has evaluated conditional headers
  const bool is_stream = head.content_length < 0;
  if (is_stream) ReserveTexts();
  for (const auto& [name, value] : head.headers) {
    const ngx_int_t set =
        is_stream ? SetField(LastingText(name), LastingText(value)) : SetField(name, value);
    if (set != NGX_OK) return NGX_ERROR;
  }
  if (is_stream) FreeMemory(head_->headers);
  return ngx_http_send_header(request_);
}

// nginx refers to the headers until the end of the request. A stream may last long, and its headers
// take half as much memory in one piece.
void ReplyWriter::ReserveTexts() {
  size_t bytes = 0;
  for (const auto& [name, value] : head_->headers) bytes += name.size() + value.size();
  texts_.reserve(bytes);
}

std::string_view ReplyWriter::LastingText(std::string_view text) {
  const size_t begin = texts_.size();
  texts_ += text;
  return std::string_view(texts_).substr(begin);
}

ngx_int_t ReplyWriter::SetField(std::string_view name, std::string_view value) {
  // Values may contain what clients chose, such as ids of threads, or come from user code.
  if (!IsHeaderValue(value)) return NGX_OK;
  if (EqualsIgnoringCase(name, "Content-Type")) {
    request_->headers_out.content_type = Reference(value);
    request_->headers_out.content_type_len = value.size();
    request_->headers_out.content_type_lowcase = nullptr;
    return NGX_OK;
  }
  if (BelongsToNginx(name)) return NGX_OK;
  ngx_table_elt_t* header = AddResponseHeader(request_, name, value);
  if (header == nullptr) return NGX_ERROR;
  // nginx's filters read the content coding here, and do not compress such a body again.
  if (EqualsIgnoringCase(name, "Content-Encoding")) {
    request_->headers_out.content_encoding = header;
  }
  return NGX_OK;
}

// True if nginx holds a part of the body and will call the write handler when the client has taken
// some of it.
bool ReplyWriter::NginxWaits() const {
  return busy_.first != nullptr &&
         (request_->out != nullptr || request_->connection->buffered != 0);
}

// Moves the next pieces from pending to busy, links them, and sets the flush flag on the last one
// so that nginx does not wait for more.
ngx_chain_t* ReplyWriter::NextChain() {
  if (!head_sent_ || pending_.first == nullptr || (!sealed_ && NginxWaits())) return nullptr;
  AG_CHECK(!last_sent_, "nginx gets nothing behind the last buffer");
  ngx_chain_t* const chain = &pending_.first->link;
  uint64_t bytes = 0;
  int pieces = 0;
  for (;;) {
    Piece* const piece = pending_.Pop();
    busy_.Push(piece);
    bytes += piece->unsent();
    ++pieces;
    const bool full = !sealed_ && (bytes >= kHandedBytesMax || pieces == kHandedPiecesMax);
    if (pending_.first != nullptr && !full) {
      piece->link.next = &pending_.first->link;
      continue;
    }
    if (pending_.first == nullptr && finished_) {
      piece->buffer.last_buf = 1;
      piece->buffer.last_in_chain = 1;
      last_sent_ = true;
    } else {
      piece->buffer.flush = 1;
    }
    return chain;
  }
}

// Frees pieces that nginx has sent, and returns credit for the sent part of the next piece.
void ReplyWriter::Recycle() {
  while (Piece* const piece = busy_.first) {
    const uint64_t unsent = piece->unsent();
    if (piece->counted > unsent) {
      released_ += piece->counted - unsent;
      piece->counted = unsent;
    }
    if (unsent > 0) return;
    delete busy_.Pop();
  }
}

}  // namespace agent_graph::nginx

#include "reply_writer.h"

#include "base/letter_case.h"

namespace agent_graph::nginx {
namespace {

constexpr size_t kFreePiecesMax = 32;

// nginx writes these itself, once, as the protocol of the connection demands; Connection does not
// exist in HTTP/2.
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

ReplyWriter::~ReplyWriter() {
  for (PieceList* list : {&pending_, &busy_, &free_}) {
    while (Piece* piece = list->Pop()) delete piece;
  }
}

void ReplyWriter::SetHead(bridge::ReplyHead head) {
  if (has_head()) return;
  length_ = head.content_length;
  head_ = std::move(head);
}

void ReplyWriter::Append(std::string bytes) {
  if (bytes.empty()) return;  // nginx treats an empty buffer as a fault
  appended_ += static_cast<int64_t>(bytes.size());
  if (request_->header_only) {
    released_ += bytes.size();
    return;
  }
  Piece* piece = NewPiece();
  piece->bytes = std::move(bytes);
  AppendPiece(piece, piece->bytes);
}

void ReplyWriter::AppendLasting(std::string_view bytes) {
  if (bytes.empty()) return;
  appended_ += static_cast<int64_t>(bytes.size());
  if (!request_->header_only) AppendPiece(NewPiece(), bytes);
}

void ReplyWriter::AppendPiece(Piece* piece, std::string_view bytes) {
  // nginx's buffers are not const; `memory` says that nobody writes to this one.
  auto* data = reinterpret_cast<u_char*>(const_cast<char*>(bytes.data()));
  piece->buffer.start = piece->buffer.pos = data;
  piece->buffer.end = piece->buffer.last = data + bytes.size();
  pending_.Push(piece);
}

void ReplyWriter::AppendFile(bridge::SendFile part) {
  appended_ += static_cast<int64_t>(part.length);
  if (request_->header_only) return;
  Piece* piece = NewPiece();
  piece->file = std::move(part.file);
  ngx_memzero(&piece->file_of_nginx, sizeof(piece->file_of_nginx));
  piece->file_of_nginx.fd = piece->file.get();
  piece->file_of_nginx.log = request_->connection->log;
  piece->buffer.memory = 0;
  piece->buffer.in_file = 1;
  piece->buffer.file = &piece->file_of_nginx;
  piece->buffer.file_pos = static_cast<off_t>(part.offset);
  piece->buffer.file_last = static_cast<off_t>(part.offset + part.length);
  pending_.Push(piece);
}

ngx_int_t ReplyWriter::Flush() {
  bool stream = false;
  if (head_ && !head_sent_) {
    stream = head_->content_length < 0;
    ngx_int_t rc = SendHead();
    if (rc == NGX_ERROR || rc > NGX_OK) return rc;
    if (request_->header_only) {
      while (Piece* piece = pending_.Pop()) {
        released_ += piece->bytes.size();
        delete piece;
      }
    }
  }
  if (request_->header_only) return NGX_OK;
  ngx_int_t rc = NGX_OK;
  if (ngx_chain_t* chain = PrepareChain(); chain != nullptr) {
    rc = ngx_http_output_filter(request_, chain);
  } else if (finished_ && !last_sent_ && head_sent_) {
    last_sent_ = true;
    rc = ngx_http_send_special(request_, NGX_HTTP_LAST);
  } else if (stream) {
    // The client sees the head at once, however slow the first piece is.
    rc = ngx_http_send_special(request_, NGX_HTTP_FLUSH);
  } else if (busy_.first != nullptr || request_->out != nullptr) {
    rc = ngx_http_output_filter(request_, nullptr);
  }
  if (rc == NGX_ERROR) return rc;
  Recycle();
  if (request_->out != nullptr || request_->buffered || request_->connection->buffered) {
    return NGX_AGAIN;
  }
  return rc;
}

uint64_t ReplyWriter::TakeReleased() {
  return std::exchange(released_, 0);
}

uint64_t ReplyWriter::DiscardUnsent() {
  uint64_t bytes = TakeReleased();
  for (const PieceList* list : {&pending_, &busy_}) {
    for (const Piece* piece = list->first; piece != nullptr; piece = piece->next) {
      bytes += piece->bytes.size();
    }
  }
  return bytes;
}

uint64_t ReplyWriter::unsent_bytes() const {
  uint64_t bytes = 0;
  for (const PieceList* list : {&pending_, &busy_}) {
    for (const Piece* piece = list->first; piece != nullptr; piece = piece->next) {
      bytes += static_cast<uint64_t>(ngx_buf_size(&piece->buffer));
    }
  }
  return bytes;
}

ngx_int_t ReplyWriter::SendHead() {
  const bridge::ReplyHead& head = *head_;
  head_sent_ = true;
  if (head.content_length < 0 && DisableNagle(request_) != NGX_OK) return NGX_ERROR;
  request_->headers_out.status = head.status;
  request_->headers_out.content_length_n = head.content_length;
  request_->disable_not_modified = 1;  // conditions of the request were looked at by the engine
  for (const auto& [name, value] : head.headers) {
    if (SetField(name, value) != NGX_OK) return NGX_ERROR;
  }
  return ngx_http_send_header(request_);
}

ngx_int_t ReplyWriter::SetField(const std::string& name, const std::string& value) {
  if (BelongsToNginx(name)) return NGX_OK;
  if (EqualsIgnoringCase(name, "Content-Type")) {
    request_->headers_out.content_type = Reference(value);
    request_->headers_out.content_type_len = value.size();
    request_->headers_out.content_type_lowcase = nullptr;
    return NGX_OK;
  }
  ngx_table_elt_t* header = AddResponseHeader(request_, name, value);
  if (header == nullptr) return NGX_ERROR;
  // Known to the filters: a body that names its coding is not compressed again.
  if (EqualsIgnoringCase(name, "Content-Encoding")) {
    request_->headers_out.content_encoding = header;
  }
  return NGX_OK;
}

ReplyWriter::Piece* ReplyWriter::NewPiece() {
  Piece* piece = free_.Pop();
  if (piece != nullptr) {
    --free_count_;
  } else {
    piece = new Piece;
  }
  ngx_memzero(&piece->buffer, sizeof(piece->buffer));
  piece->buffer.memory = 1;
  piece->link.buf = &piece->buffer;
  piece->link.next = nullptr;
  return piece;
}

// Moves what is pending to busy, linked, the end marked for nginx to send without waiting for more.
ngx_chain_t* ReplyWriter::PrepareChain() {
  if (!head_sent_ || pending_.first == nullptr) return nullptr;
  ngx_chain_t* chain = &pending_.first->link;
  while (Piece* piece = pending_.Pop()) {
    if (pending_.first != nullptr) {
      piece->link.next = &pending_.first->link;
    } else if (finished_) {
      piece->buffer.last_buf = 1;
      piece->buffer.last_in_chain = 1;
      last_sent_ = true;
    } else {
      piece->buffer.flush = 1;
    }
    busy_.Push(piece);
  }
  return chain;
}

void ReplyWriter::Recycle() {
  while (busy_.first != nullptr && ngx_buf_size(&busy_.first->buffer) == 0) {
    Piece* piece = busy_.Pop();
    released_ += piece->bytes.size();
    if (free_count_ < kFreePiecesMax) {
      piece->bytes.clear();
      piece->bytes.shrink_to_fit();
      piece->file.Reset();
      free_.Push(piece);
      ++free_count_;
    } else {
      delete piece;
    }
  }
}

}  // namespace agent_graph::nginx

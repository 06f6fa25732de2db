// SPDX-License-Identifier: Apache-2.0
// For work inside a program's call that the program is not to notice: its errno and its wish to cancel this thread are
// none of our business. A thread that ended in the middle of our work would leave it undone for all others.
#pragma once
#include <errno.h>
#include <pthread.h>

namespace tidemark {

class Quietly {
 public:
  Quietly() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_); }
  ~Quietly() {
    pthread_setcancelstate(cancel_, nullptr);
    errno = errno_;
  }
  Quietly(const Quietly&) = delete;
  Quietly& operator=(const Quietly&) = delete;

 private:
  int errno_ = errno;
  int cancel_ = 0;
};

}  // namespace tidemark

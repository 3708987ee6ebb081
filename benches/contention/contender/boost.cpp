// Boost.Interprocess behind four C functions, compiled when the bench starts.
#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <new>

using mutex = boost::interprocess::interprocess_mutex;

extern "C" {
unsigned long boost_mutex_size() { return sizeof(mutex); }
void boost_mutex_make(void *place) { new (place) mutex; }
void boost_mutex_lock(void *place) { static_cast<mutex *>(place)->lock(); }
void boost_mutex_unlock(void *place) { static_cast<mutex *>(place)->unlock(); }
}

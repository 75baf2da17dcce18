// SPDX-License-Identifier: Apache-2.0
// Throws an error in another Java thread, for the Java tests: `Thread.stop` has gone from the JDK,
// but debuggers still can.
#include <jvmti.h>

#include <string>

namespace {

void fail(JNIEnv* env, const std::string& message) {
  env->ThrowNew(env->FindClass("java/lang/IllegalStateException"), message.c_str());
}

}  // namespace

extern "C" JNIEXPORT void JNICALL Java_io_torchfeed_testing_ThreadStop_stop(JNIEnv* env,
                                                                            jclass /*caller*/,
                                                                            jthread thread,
                                                                            jobject error) {
  JavaVM* vm = nullptr;
  jvmtiEnv* tools = nullptr;
  if (env->GetJavaVM(&vm) != JNI_OK ||
      vm->GetEnv(reinterpret_cast<void**>(&tools), JVMTI_VERSION_11) != JNI_OK) {
    return fail(env, "the JVM has no tool interface");
  }
  jvmtiCapabilities wanted = {};
  wanted.can_signal_thread = 1;
  jvmtiError result = tools->AddCapabilities(&wanted);
  if (result == JVMTI_ERROR_NONE) {
    result = tools->StopThread(thread, error);
  }
  tools->DisposeEnvironment();
  if (result != JVMTI_ERROR_NONE && result != JVMTI_ERROR_THREAD_NOT_ALIVE) {
    fail(env, "the thread cannot be stopped: JVM TI error " + std::to_string(result));
  }
}

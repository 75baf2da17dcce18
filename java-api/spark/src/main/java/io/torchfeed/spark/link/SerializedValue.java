// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.link;

import io.torchfeed.internal.Failures;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;

/** Values that go between driver and executors as bytes, whatever Spark's serializer is. */
public final class SerializedValue {
  private SerializedValue() {}

  public static byte[] of(Serializable value) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(value);
    }
    return bytes.toByteArray();
  }

  /** Returns a failure, or one with its text and stack trace if it is not serializable. */
  public static byte[] ofFailure(Throwable failure) {
    try {
      byte[] bytes = of(failure);
      if (bytes.length <= LinkMessage.MAX_BYTES) {
        return bytes;
      }
    } catch (IOException | RuntimeException e) {
      failure.addSuppressed(e); // for the executor's log
    }
    RuntimeException text = new RuntimeException(Failures.describe(failure));
    text.setStackTrace(failure.getStackTrace());
    try {
      return of(text);
    } catch (IOException e) {
      throw new IllegalStateException("a text and a stack trace are serializable", e);
    }
  }

  /** Reads a value with the classes of the job, also from {@code --jars}. */
  public static Object read(byte[] bytes) throws IOException, ClassNotFoundException {
    try (ObjectInputStream in = new JobInput(new ByteArrayInputStream(bytes))) {
      return in.readObject();
    }
  }

  private static final class JobInput extends ObjectInputStream {
    JobInput(InputStream in) throws IOException {
      super(in);
    }

    @Override
    protected Class<?> resolveClass(ObjectStreamClass description)
        throws IOException, ClassNotFoundException {
      try {
        return Class.forName(
            description.getName(), false, Thread.currentThread().getContextClassLoader());
      } catch (ClassNotFoundException e) {
        return super.resolveClass(description); // a primitive type, or a thread without a loader
      }
    }
  }
}

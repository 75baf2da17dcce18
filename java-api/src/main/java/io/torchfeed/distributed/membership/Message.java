// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A message between a coordinator and a member: a frame of at most {@link #MAX_BYTES} bytes, behind
 * its length in four bytes. Its first byte is the kind of the message.
 */
sealed interface Message {
  /** More than any message has; a longer frame is none. */
  int MAX_BYTES = 1 << 16;

  /** Longer texts are cut. */
  int MAX_CHARS = 4000;

  /** The first number of each side; strangers do not send it. */
  long GREETING = 0x746f726368666432L;

  // By members.

  /** The first message: who connects. */
  record Hello(String job, String name) implements Message {}

  /**
   * A sign of life, with the steps completed. The coordinator answers with the same, once within
   * the limit of its own patience: it is given up later.
   */
  record Beat(long step) implements Message {}

  /** The member waits for a generation; {@code step} is {@link #NO_STEP} if it holds no state. */
  record Ready(long step, String reason) implements Message {}

  /** Rank 0 of a generation listens at this address. */
  record Listening(int generation, String host, int port) implements Message {}

  /** The member has completed these steps; it begins the next but one after {@link StopAfter}. */
  record At(int generation, long step) implements Message {}

  /** The member wants to leave after a step. */
  record Leaving() implements Message {}

  /** The member leaves now; {@code failure} is empty if it was planned. */
  record Left(String failure) implements Message {}

  /** The member has completed its training. */
  record Finished(long step) implements Message {}

  /** The member wants to get the events of the job. */
  record Watch() implements Message {}

  // By the coordinator.

  /** The answer to {@link Hello}: the member has an id and gives a sign of life that often. */
  record Welcome(long id, int beatMillis, int limitMillis) implements Message {}

  /** A generation is formed. */
  record Formed(int generation, int rank, int size, World.Origin origin, long step)
      implements Message {}

  /** The address at which rank 0 of a generation listens. */
  record Master(int generation, String host, int port) implements Message {}

  /** The generation is no more: the member ends its group and gets {@link Ready}. */
  record Broken(int generation, String reason) implements Message {}

  /** The generation will change: the member answers with {@link At}. */
  record Pause(int generation) implements Message {}

  /** The last step of the generation. */
  record StopAfter(int generation, long step) implements Message {}

  /**
   * All is over for this member; {@code isLastHolder} if it leaves, and no other member holds the
   * state.
   */
  record Ended(MembershipEndedException.Reason reason, String text, boolean isLastHolder)
      implements Message {
    Ended(MembershipEndedException.Reason reason, String text) {
      this(reason, text, false);
    }
  }

  /** Names of processes that the next {@link Event} is about: a message has no room for all. */
  record Names(List<String> processes) implements Message {
    /** Fewer than a message has room for, at three bytes for each character. */
    private static final int MAX_TOTAL_CHARS = 16_000;

    /** Divides names into messages. */
    static List<Names> of(List<String> processes) {
      List<Names> all = new ArrayList<>();
      List<String> some = new ArrayList<>();
      int chars = 0;
      for (String each : processes) {
        if (chars + each.length() > MAX_TOTAL_CHARS && !some.isEmpty()) {
          all.add(new Names(List.copyOf(some)));
          some.clear();
          chars = 0;
        }
        some.add(each);
        chars += each.length();
      }
      if (!some.isEmpty()) {
        all.add(new Names(List.copyOf(some)));
      }
      return all;
    }
  }

  /** The member gives no sign of life in time: it answers with a {@link Beat} at once. */
  record Ask() implements Message {}

  /** An event of the job, about the processes that were named before it. */
  record Event(CoordinatorEvent.Kind kind, int generation, String text) implements Message {}

  /** The bytes of {@link #greeting} before the challenge. */
  int GREETING_BYTES = Long.BYTES + 1;

  /**
   * Returns the first bytes of the coordinator: who it is, and its challenge if it has a secret.
   *
   * @param challenge empty if there is none
   */
  static byte[] greeting(byte[] challenge) {
    return ByteBuffer.allocate(GREETING_BYTES + challenge.length)
        .putLong(GREETING)
        .put((byte) (challenge.length > 0 ? 1 : 0))
        .put(challenge)
        .array();
  }

  /** The step of a member without state. */
  long NO_STEP = -1;

  /** Returns the frame, its length included. */
  default byte[] encode() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeInt(0);
      write(out);
      byte[] frame = bytes.toByteArray();
      ByteBuffer.wrap(frame).putInt(frame.length - Integer.BYTES);
      return frame;
    } catch (IOException e) {
      throw new UncheckedIOException(e); // memory has no faults
    }
  }

  private void write(DataOutputStream out) throws IOException {
    if (this instanceof Hello m) {
      out.writeByte(1);
      out.writeLong(GREETING);
      out.writeUTF(cut(m.job));
      out.writeUTF(cut(m.name));
    } else if (this instanceof Beat m) {
      out.writeByte(2);
      out.writeLong(m.step);
    } else if (this instanceof Ready m) {
      out.writeByte(3);
      out.writeLong(m.step);
      out.writeUTF(cut(m.reason));
    } else if (this instanceof Listening m) {
      out.writeByte(4);
      writeAddress(out, m.generation, m.host, m.port);
    } else if (this instanceof At m) {
      out.writeByte(5);
      out.writeInt(m.generation);
      out.writeLong(m.step);
    } else if (this instanceof Leaving) {
      out.writeByte(6);
    } else if (this instanceof Left m) {
      out.writeByte(7);
      out.writeUTF(cut(m.failure));
    } else if (this instanceof Finished m) {
      out.writeByte(8);
      out.writeLong(m.step);
    } else if (this instanceof Watch) {
      out.writeByte(9);
    } else if (this instanceof Welcome m) {
      out.writeByte(33);
      out.writeLong(m.id);
      out.writeInt(m.beatMillis);
      out.writeInt(m.limitMillis);
    } else if (this instanceof Formed m) {
      out.writeByte(34);
      out.writeInt(m.generation);
      out.writeInt(m.rank);
      out.writeInt(m.size);
      out.writeUTF(m.origin.name());
      out.writeLong(m.step);
    } else if (this instanceof Master m) {
      out.writeByte(35);
      writeAddress(out, m.generation, m.host, m.port);
    } else if (this instanceof Broken m) {
      out.writeByte(36);
      out.writeInt(m.generation);
      out.writeUTF(cut(m.reason));
    } else if (this instanceof Pause m) {
      out.writeByte(37);
      out.writeInt(m.generation);
    } else if (this instanceof StopAfter m) {
      out.writeByte(38);
      out.writeInt(m.generation);
      out.writeLong(m.step);
    } else if (this instanceof Ended m) {
      out.writeByte(39);
      out.writeUTF(m.reason.name());
      out.writeUTF(cut(m.text));
      out.writeBoolean(m.isLastHolder);
    } else if (this instanceof Names m) {
      out.writeByte(40);
      out.writeInt(m.processes.size());
      for (String each : m.processes) {
        out.writeUTF(cut(each));
      }
    } else if (this instanceof Event m) {
      out.writeByte(41);
      out.writeUTF(m.kind.name());
      out.writeInt(m.generation);
      out.writeUTF(cut(m.text));
    } else if (this instanceof Ask) {
      out.writeByte(42);
    }
  }

  private static void writeAddress(DataOutputStream out, int generation, String host, int port)
      throws IOException {
    out.writeInt(generation);
    out.writeUTF(cut(host));
    out.writeInt(port);
  }

  private static String cut(String text) {
    return text.length() <= MAX_CHARS ? text : text.substring(0, MAX_CHARS) + " ...";
  }

  /**
   * Reads the message of a frame, without its length.
   *
   * @throws IOException if it is none; the message says why
   */
  static Message decode(byte[] frame) throws IOException {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(frame))) {
      Message message = read(in, in.readByte());
      if (in.available() > 0) {
        throw new IOException(in.available() + " bytes behind a message");
      }
      return message;
    }
  }

  private static Message read(DataInputStream in, int kind) throws IOException {
    return switch (kind) {
      case 1 -> hello(in);
      case 2 -> new Beat(in.readLong());
      case 3 -> new Ready(in.readLong(), in.readUTF());
      case 4 -> new Listening(in.readInt(), in.readUTF(), in.readInt());
      case 5 -> new At(in.readInt(), in.readLong());
      case 6 -> new Leaving();
      case 7 -> new Left(in.readUTF());
      case 8 -> new Finished(in.readLong());
      case 9 -> new Watch();
      case 33 -> new Welcome(in.readLong(), in.readInt(), in.readInt());
      case 34 -> formed(in);
      case 35 -> new Master(in.readInt(), in.readUTF(), in.readInt());
      case 36 -> new Broken(in.readInt(), in.readUTF());
      case 37 -> new Pause(in.readInt());
      case 38 -> new StopAfter(in.readInt(), in.readLong());
      case 39 ->
          new Ended(
              nameOf(MembershipEndedException.Reason.class, in), in.readUTF(), in.readBoolean());
      case 40 -> names(in);
      case 41 -> new Event(nameOf(CoordinatorEvent.Kind.class, in), in.readInt(), in.readUTF());
      case 42 -> new Ask();
      default -> throw new IOException("unknown kind " + kind + " of message");
    };
  }

  private static Hello hello(DataInputStream in) throws IOException {
    if (in.readLong() != GREETING) {
      throw new IOException("not a member of a torchfeed job, or one of another version");
    }
    return new Hello(in.readUTF(), in.readUTF());
  }

  private static Names names(DataInputStream in) throws IOException {
    List<String> processes = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      processes.add(in.readUTF()); // ends with the message
    }
    return new Names(processes);
  }

  private static Formed formed(DataInputStream in) throws IOException {
    return new Formed(
        in.readInt(), in.readInt(), in.readInt(), nameOf(World.Origin.class, in), in.readLong());
  }

  private static <E extends Enum<E>> E nameOf(Class<E> type, DataInputStream in)
      throws IOException {
    String name = in.readUTF();
    try {
      return Enum.valueOf(type, name);
    } catch (IllegalArgumentException e) {
      throw new IOException("unknown " + type.getSimpleName() + " " + name, e);
    }
  }
}

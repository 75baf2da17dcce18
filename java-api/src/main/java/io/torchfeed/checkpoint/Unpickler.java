// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.checkpoint.PickledObjects.EndException;
import io.torchfeed.checkpoint.PickledObjects.Global;
import io.torchfeed.checkpoint.PickledObjects.Instance;
import io.torchfeed.checkpoint.PickledObjects.UnpicklingException;
import io.torchfeed.checkpoint.PickledTensor.PickledStorage;
import io.torchfeed.internal.Quotes;
import io.torchfeed.memory.DType;
import java.math.BigInteger;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads a pickle of tensors, dictionaries, lists, numbers and texts. It is closed: it makes objects
 * of these kinds alone, and calls nothing that a pickle names.
 *
 * <p>The opcodes are those that Python's {@code torch.save} writes in protocols 2 to 5.
 */
final class Unpickler {
  private static final int STORAGE_ID = 5;
  private static final int LEGACY_STORAGE_ID = 6;
  private static final int VIEW = 5;
  private static final int MODULE_ID = 4;

  /** Python's {@code None}. */
  static final Object NONE = new Object();

  private final ByteBuffer in;
  private final Map<String, PickledStorage> storages;
  private final boolean withInstances;
  private final List<Object> stack = new ArrayList<>();
  private final Deque<Integer> marks = new ArrayDeque<>();
  private final Map<Integer, Object> memo = new HashMap<>();

  private Unpickler(
      ByteBuffer pickle, Map<String, PickledStorage> storages, boolean withInstances) {
    in = pickle.order(ByteOrder.LITTLE_ENDIAN);
    this.storages = storages;
    this.withInstances = withInstances;
  }

  /**
   * Reads a pickle.
   *
   * @param pickle its bytes; its position becomes the end of the pickle
   * @param storages receives the storages that the pickle names, by key
   * @return its object: a map, a list, a {@link PickledTensor}, a {@code Long}, {@code BigInteger},
   *     {@code Double}, {@code Boolean} or {@code String}, a {@link Global}, or {@link #NONE}
   */
  static Object read(ByteBuffer pickle, Map<String, PickledStorage> storages)
      throws UnpicklingException {
    return new Unpickler(pickle, storages, false).read();
  }

  /**
   * Reads a pickle without storages, with an {@link Instance} for each object of an unknown class.
   *
   * @param pickle as in {@link #read}
   */
  static Object readInstances(ByteBuffer pickle) throws UnpicklingException {
    return new Unpickler(pickle, new HashMap<>(), true).read();
  }

  private Object read() throws UnpicklingException {
    try {
      while (true) {
        int opcode = Byte.toUnsignedInt(in.get());
        if (opcode == '.') {
          return pop();
        }
        perform(opcode);
      }
    } catch (BufferUnderflowException e) {
      throw new EndException();
    }
  }

  private void perform(int opcode) throws UnpicklingException {
    switch (opcode) {
      case 0x80 -> in.get(); // PROTO
      case 0x95 -> in.getLong(); // FRAME
      case '(' -> marks.push(stack.size());
      case ')', ']', 0x8f -> stack.add(new ArrayList<>());
      case 't' -> stack.add(popToMark());
      case 0x85 -> stack.add(popMany(1));
      case 0x86 -> stack.add(popMany(2));
      case 0x87 -> stack.add(popMany(3));
      case 'a' -> append(popMany(1));
      case 'e', 0x90 -> append(popToMark());
      case '}' -> stack.add(new LinkedHashMap<>());
      case 's' -> put(popMany(2));
      case 'u' -> put(popToMark());
      case 'N' -> stack.add(NONE);
      case 0x88 -> stack.add(true);
      case 0x89 -> stack.add(false);
      case 'J' -> stack.add((long) in.getInt());
      case 'K' -> stack.add((long) Byte.toUnsignedInt(in.get()));
      case 'M' -> stack.add((long) Short.toUnsignedInt(in.getShort()));
      case 0x8a -> stack.add(integer());
      case 'G' -> stack.add(Double.longBitsToDouble(Long.reverseBytes(in.getLong())));
      case 'X' -> stack.add(text(in.getInt()));
      case 'T' -> stack.add(text(in.getInt())); // of Python 2
      case 'U', 0x8c -> stack.add(text(Byte.toUnsignedInt(in.get())));
      case 'q' -> memo.put(Byte.toUnsignedInt(in.get()), top());
      case 'r' -> memo.put(in.getInt(), top());
      case 0x94 -> memo.put(memo.size(), top());
      case 'h' -> stack.add(remembered(Byte.toUnsignedInt(in.get())));
      case 'j' -> stack.add(remembered(in.getInt()));
      case 'c' -> stack.add(new Global(line() + "." + line()));
      case 0x93 -> {
        List<Object> names = popMany(2);
        if (!(names.get(0) instanceof String module && names.get(1) instanceof String name)) {
          throw new UnpicklingException("the pickle has a name that is no text");
        }
        stack.add(new Global(module + "." + name));
      }
      case 'R', 0x81 -> {
        List<Object> call = popMany(2);
        stack.add(result(PickledObjects.global(call.get(0)), PickledObjects.list(call.get(1))));
      }
      case 'b' -> build(pop());
      case 'Q' -> stack.add(persistent(PickledObjects.list(pop())));
      default ->
          throw new UnpicklingException(
              "the pickle has the opcode 0x%02x, which is not supported".formatted(opcode));
    }
  }

  private void build(Object state) throws UnpicklingException {
    if (top() instanceof Instance instance) {
      instance.setState(state);
    } else {
      PickledObjects.requireMap(top()); // attributes of an OrderedDict are not of use here
    }
  }

  private Object top() throws UnpicklingException {
    if (stack.isEmpty()) {
      throw new UnpicklingException("the pickle uses an object that is not there");
    }
    return stack.get(stack.size() - 1);
  }

  private Object pop() throws UnpicklingException {
    return popMany(1).get(0);
  }

  private List<Object> popMany(int count) throws UnpicklingException {
    int from = stack.size() - count;
    if (from < (marks.isEmpty() ? 0 : marks.getFirst())) {
      throw new UnpicklingException("the pickle uses an object that is not there");
    }
    return popFrom(from);
  }

  private List<Object> popToMark() throws UnpicklingException {
    if (marks.isEmpty()) {
      throw new UnpicklingException("the pickle uses a mark that is not there");
    }
    return popFrom(marks.pop());
  }

  private List<Object> popFrom(int from) {
    List<Object> tail = stack.subList(from, stack.size());
    List<Object> popped = new ArrayList<>(tail);
    tail.clear();
    return popped;
  }

  private void append(List<Object> items) throws UnpicklingException {
    PickledObjects.list(top()).addAll(items);
  }

  private void put(List<Object> items) throws UnpicklingException {
    PickledObjects.put(PickledObjects.requireMap(top()), items);
  }

  private Object remembered(int index) throws UnpicklingException {
    @Nullable Object object = memo.get(index);
    if (object == null) {
      throw new UnpicklingException("the pickle refers to an object that is not there");
    }
    return object;
  }

  private Object integer() throws UnpicklingException {
    byte[] bytes = bytes(Byte.toUnsignedInt(in.get()));
    byte[] bigEndian = new byte[bytes.length + 1]; // an empty one is 0
    for (int i = 0; i < bytes.length; i++) {
      bigEndian[bytes.length - i] = bytes[i];
    }
    bigEndian[0] = (byte) (bytes.length > 0 && bytes[bytes.length - 1] < 0 ? -1 : 0);
    BigInteger number = new BigInteger(bigEndian);
    return number.bitLength() < Long.SIZE ? (Object) number.longValueExact() : number;
  }

  private byte[] bytes(int length) throws UnpicklingException {
    if (length < 0 || length > in.remaining()) {
      throw new EndException();
    }
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  private String text(int length) throws UnpicklingException {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes(length))).toString();
    } catch (CharacterCodingException e) {
      throw new UnpicklingException("the pickle has a text that is not in UTF-8");
    }
  }

  private String line() throws UnpicklingException {
    int length = 0;
    while (length < in.remaining() && in.get(in.position() + length) != '\n') {
      length++;
    }
    String line = text(length);
    in.get();
    return line;
  }

  private Object result(Global function, List<Object> arguments) throws UnpicklingException {
    @Nullable Object result = PickledObjects.result(function.name(), arguments);
    if (result != null) {
      return result;
    }
    if (withInstances) {
      return new Instance(function.name());
    }
    throw new UnpicklingException(
        "it has an object of %s; save tensors, dictionaries, lists, numbers and texts alone,"
                .formatted(Quotes.shortened(function.name()))
            + " for example model.state_dict()");
  }

  /** Returns the storage or the class of a persistent identifier of {@code torch.save}. */
  private Object persistent(List<Object> id) throws UnpicklingException {
    if (id.size() == MODULE_ID && id.get(0).equals("module")) {
      return PickledObjects.global(id.get(1)); // with its source, in the legacy format
    }
    boolean isLegacy = id.size() == LEGACY_STORAGE_ID;
    if (!(isLegacy || id.size() == STORAGE_ID)
        || !id.get(0).equals("storage")
        || !(id.get(2) instanceof String key)) {
      throw new UnpicklingException("the pickle has a storage that torch.save does not write");
    }
    String type = PickledObjects.global(id.get(1)).name();
    @Nullable DType dtype = TorchDTypes.ofStorage(type);
    if (dtype == null) {
      throw new UnpicklingException(
          "it has a tensor in a %s, which is not supported; save tensor.dequantize() or .float()"
              .formatted(Quotes.shortened(type)));
    }
    PickledStorage storage = new PickledStorage(key, dtype, 0);
    PickledStorage known = storages.putIfAbsent(key, storage);
    if (isLegacy && known != null && !known.equals(storage)) {
      throw new UnpicklingException(
          "the storage %s has two types".formatted(Quotes.shortened(key)));
    }
    return isLegacy && id.get(VIEW) != NONE
        ? new PickledStorage(
            key,
            dtype,
            PickledObjects.number(PickledObjects.argument(PickledObjects.list(id.get(VIEW)), 1)))
        : storage;
  }
}

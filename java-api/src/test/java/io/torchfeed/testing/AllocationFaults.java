// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Set;
import net.bytebuddy.jar.asm.ClassReader;
import net.bytebuddy.jar.asm.ClassVisitor;
import net.bytebuddy.jar.asm.ClassWriter;
import net.bytebuddy.jar.asm.Handle;
import net.bytebuddy.jar.asm.Label;
import net.bytebuddy.jar.asm.MethodVisitor;
import net.bytebuddy.jar.asm.Opcodes;
import org.jspecify.annotations.Nullable;

/**
 * Lets any allocation fail, as it may while the heap is full: classes that are loaded here call a
 * hook before each instruction that creates an object, and before each call of a method outside of
 * them that may create one. The hook may throw.
 */
public final class AllocationFaults extends ClassLoader {
  /** An action before an allocation. */
  public interface Hook {
    /**
     * Is called by the thread that is about to allocate.
     *
     * @param place the class, method and line, and what is created or called
     */
    void before(String place);
  }

  private static final String OWN = "io/torchfeed/testing/AllocationFaults";

  /** Classes whose methods create nothing. */
  private static final Set<String> FRUGAL =
      Set.of(
          "java/lang/Object",
          "java/lang/System",
          "java/lang/Thread",
          "java/lang/Math",
          "java/lang/StrictMath",
          "java/lang/ref/Reference",
          "java/util/Objects",
          "java/util/concurrent/TimeUnit",
          "java/util/concurrent/locks/LockSupport",
          "java/util/concurrent/atomic/AtomicBoolean",
          "java/util/concurrent/atomic/AtomicInteger",
          "java/util/concurrent/atomic/AtomicLong",
          "java/lang/Boolean");

  /** Methods of collections and tensors that create nothing. */
  private static final Set<String> FRUGAL_METHODS =
      Set.of(
          "size",
          "isEmpty",
          "get",
          "set",
          "peek",
          "poll",
          "remove",
          "removeLast",
          "clear",
          "hasNext",
          "next",
          "close",
          "isNull",
          "setNull",
          "position",
          "remaining",
          "longValue");

  private static volatile Hook hook = place -> {};

  private final List<String> prefixes;
  private final List<String> places;

  /**
   * Creates a loader.
   *
   * @param prefixes the beginnings of the names of classes that are loaded here, with their tests
   * @param places the beginnings of the names of those whose allocations may fail
   */
  public AllocationFaults(List<String> prefixes, List<String> places) {
    super(AllocationFaults.class.getClassLoader());
    this.prefixes = prefixes;
    this.places = places;
  }

  /** Sets the hook, for the classes of all loaders. */
  public static void set(Hook next) {
    hook = next;
  }

  /** Is called by the classes of a loader. */
  public static void before(String place) {
    hook.before(place);
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    synchronized (getClassLoadingLock(name)) {
      if (prefixes.stream().noneMatch(name::startsWith)) {
        return super.loadClass(name, resolve);
      }
      Class<?> known = findLoadedClass(name);
      return known != null ? known : define(name);
    }
  }

  private Class<?> define(String name) throws ClassNotFoundException {
    String file = name.replace('.', '/') + ".class";
    try (InputStream in = getParent().getResourceAsStream(file)) {
      if (in == null) {
        throw new ClassNotFoundException(name);
      }
      byte[] bytes = in.readAllBytes();
      boolean isTest = getParent().getResource(file).getPath().contains("test");
      if (!isTest && places.stream().anyMatch(name::startsWith)) {
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(new Places(writer), 0);
        bytes = writer.toByteArray();
      }
      return defineClass(name, bytes, 0, bytes.length);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static final class Places extends ClassVisitor {
    private String type = "";

    Places(ClassVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public void visit(
        int version,
        int access,
        String name,
        @Nullable String signature,
        @Nullable String superName,
        String @Nullable [] interfaces) {
      type = name.substring(name.lastIndexOf('/') + 1);
      super.visit(version, access, name, signature, superName, interfaces);
    }

    @Override
    public MethodVisitor visitMethod(
        int access,
        String name,
        String descriptor,
        @Nullable String signature,
        String @Nullable [] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
      // The first use of a class is not tested.
      return name.equals("<clinit>") ? next : new Calls(next, type + "." + name);
    }
  }

  private static final class Calls extends MethodVisitor {
    private final String method;
    private int line;

    Calls(MethodVisitor next, String method) {
      super(Opcodes.ASM9, next);
      this.method = method;
    }

    private void place(String what) {
      super.visitLdcInsn(method + ":" + line + " " + what);
      super.visitMethodInsn(Opcodes.INVOKESTATIC, OWN, "before", "(Ljava/lang/String;)V", false);
    }

    @Override
    public void visitLineNumber(int number, Label start) {
      line = number;
      super.visitLineNumber(number, start);
    }

    @Override
    public void visitTypeInsn(int opcode, String type) {
      super.visitTypeInsn(opcode, type);
      if (opcode == Opcodes.NEW || opcode == Opcodes.ANEWARRAY) {
        place("new " + type); // after it, since stack maps refer to the instruction
      }
    }

    @Override
    public void visitIntInsn(int opcode, int operand) {
      if (opcode == Opcodes.NEWARRAY) {
        place("new array");
      }
      super.visitIntInsn(opcode, operand);
    }

    @Override
    public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
      place("new arrays");
      super.visitMultiANewArrayInsn(descriptor, dimensions);
    }

    @Override
    public void visitInvokeDynamicInsn(
        String name, String descriptor, Handle bootstrap, Object... arguments) {
      place("lambda " + name);
      super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
    }

    @Override
    public void visitMethodInsn(
        int opcode, String owner, String name, String descriptor, boolean isInterface) {
      boolean isLoadedHere = owner.startsWith("io/torchfeed/data/");
      if (!isLoadedHere
          && !name.equals("<init>")
          && !FRUGAL.contains(owner)
          && !FRUGAL_METHODS.contains(name)
          && !owner.startsWith("[")
          && !owner.startsWith("java/util/function/") // whose code is loaded here
          && !(owner.equals("java/util/ArrayList") && name.equals("add")) // after ensureCapacity
      ) {
        place("call " + owner.substring(owner.lastIndexOf('/') + 1) + "." + name);
      }
      super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
    }
  }
}

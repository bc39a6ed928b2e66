// @ts-check
import { createNodeResolver, importX } from 'eslint-plugin-import-x'
import tseslint from 'typescript-eslint'
import { packageRules } from './scripts/lint/package-rules.js'

/**
 * What the formatter and the compiler cannot see: promises nobody waits for, imports against the one-way picture
 * of the packages, effects outside the leaf shells, and files and functions that have grown too long.
 */
export default tseslint.config(
  {
    ignores: [
      '**/dist/',
      '**/node_modules/',
      '**/.cache/',
      '**/coverage/',
      '**/generated/',
      'scripts/tests/consumers/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { 'import-x': importX },
    settings: {
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
      'import-x/resolver-next': [
        createNodeResolver({
          extensions: ['.ts', '.js', '.mjs'],
          extensionAlias: { '.js': ['.ts', '.js'] },
          conditionNames: ['ticketing-source', 'types', 'import', 'node', 'default'],
        }),
      ],
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-explicit-any': 'error',
      // What was caught is thrown again as it came: the work's own error reaches the caller as the same object.
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingAny: false, allowThrowingUnknown: true }],
      '@typescript-eslint/prefer-promise-reject-errors': [
        'error',
        { allowThrowingAny: false, allowThrowingUnknown: true },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // `{} extends Options` is how a type says that every option may be left out.
      '@typescript-eslint/no-empty-object-type': 'off',
      // Interfaces state functions in method form here, and hand them on; what needs its `this` has private fields.
      '@typescript-eslint/unbound-method': 'off',
      // A function is async because its caller awaits it, also where this one has nothing to wait for.
      '@typescript-eslint/require-await': 'off',
      'import-x/no-cycle': 'error',
    },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    rules: { 'import-x/no-relative-packages': 'error' },
  },
  {
    // A driver's rows and a caught error are `any` there, and the assertion that follows says what they must be.
    files: ['**/tests/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
    },
  },
  ...packageRules,
  {
    // A part of the suite is a list of tests, and as long as they are.
    files: ['packages/testing/src/conformance/*-rules.ts'],
    rules: { 'max-lines-per-function': 'off' },
  },
)

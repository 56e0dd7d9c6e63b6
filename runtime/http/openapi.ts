/** The OpenAPI 3.1 document, written from the same table and schemas that serve: it cannot tell another story. */
import { z } from 'zod'
import { problemSchema } from '../core/wire.ts'
import type { Route, Who } from './route.ts'

type JsonObject = { [key: string]: unknown }

/** What a caller sends, before any transform; a custom check without a JSON Schema form is left to its description. */
const jsonSchema = (schema: z.ZodType): JsonObject => {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-2020-12',
  })
  return rest
}

const SECURITY: Readonly<Record<Who, readonly JsonObject[]>> = {
  public: [{}],
  principal: [{}],
  holder: [{ holder: [] }],
  operator: [{ operatorToken: [] }, { operatorSession: [] }],
  rail: [{}],
}

const PROBLEM = {
  description: 'A problem document (RFC 9457).',
  ref: '#/components/schemas/Problem',
}

export function openApi(routes: readonly Route[], url: string): JsonObject {
  const paths: { [path: string]: JsonObject } = {}
  for (const route of routes) {
    const path = route.path.replace(/:([A-Za-z]+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Headgate',
      version: '1',
      description:
        'Agents that spend money, safely: one signed mandate, a tree of tokens that can only narrow, nine checks.',
    },
    servers: [{ url }],
    paths,
    components: {
      securitySchemes: {
        holder: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description:
            '`DPoP <token>` with a fresh `DPoP` proof (RFC 9449) signed by the node’s holder.',
        },
        operatorToken: { type: 'http', scheme: 'bearer' },
        operatorSession: { type: 'apiKey', in: 'cookie', name: '__Host-headgate' },
      },
      schemas: { Problem: jsonSchema(problemSchema) },
    },
  }
}

function operation(route: Route): JsonObject {
  return {
    summary: route.summary,
    security: route.who.flatMap((who) => SECURITY[who]),
    ...parameters(route),
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: jsonSchema(route.body) } },
          },
        }),
    responses: responses(route),
  }
}

function parameters(route: Route): JsonObject {
  const list = [
    ...fields(route.params).map((field) => ({ ...field, in: 'path', required: true })),
    ...fields(route.query).map((field) => ({ ...field, in: 'query' })),
  ]
  return list.length === 0 ? {} : { parameters: list }
}

function fields(schema: z.ZodType | undefined): JsonObject[] {
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    schema: jsonSchema(field as z.ZodType),
    required: !(field instanceof z.ZodOptional),
  }))
}

function responses(route: Route): JsonObject {
  const answers: JsonObject = {}
  for (const [status, answer] of Object.entries(route.answers)) {
    if (answer === 'empty') answers[status] = { description: 'Done.' }
    else if (typeof answer === 'string') {
      answers[status] = { description: 'A stream.', content: { [answer]: {} } }
    } else {
      const content = {
        'application/json': { schema: jsonSchema(answer) },
        ...(route.ownPage ? { 'text/html': {} } : {}),
      }
      answers[status] = { description: 'The answer.', content }
    }
  }
  answers.default = {
    description: PROBLEM.description,
    content: { 'application/problem+json': { schema: { $ref: PROBLEM.ref } } },
  }
  return answers
}
